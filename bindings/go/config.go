// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

// Setting is one value of a configuration file.
type Setting struct {
	Key, Value string
	InList     bool
	Line       uint32 // Of the key in the file, from 1.
	Mistake    string // What is wrong with the key, which then has no value; "": nothing.
}

// ReadConfig reads a site's configuration file, such as /etc/gpucontainer/config.yaml. If it is
// missing, there are no settings. Errors: ErrUsage, ErrPermission.
func ReadConfig(path string) ([]Setting, error) { return readConfig(path, false) }

// ReadConfigWithMistakes does the same, but mistakes that cannot concern the policy become settings.
func ReadConfigWithMistakes(path string) ([]Setting, error) { return readConfig(path, true) }

func readConfig(path string, withMistakes bool) ([]Setting, error) {
	var a arguments
	defer a.free()
	native := a.copied("path", path)
	if a.err != nil {
		return nil, a.err
	}
	var config *C.gpuctr_config
	var failure *C.gpuctr_error
	var status C.gpuctr_status
	if withMistakes {
		status = C.gpuctr_config_open_with_mistakes(native, &config, &failure)
	} else {
		status = C.gpuctr_config_open(native, &config, &failure)
	}
	if err := check(status, failure); err != nil {
		return nil, err
	}
	defer C.gpuctr_config_free(config)
	return list(C.gpuctr_config_setting_count(config), func(i C.size_t) *C.gpuctr_setting {
		return C.gpuctr_config_setting_at(config, i)
	}, func(s *C.gpuctr_setting) Setting {
		return Setting{
			Key:     text(C.gpuctr_setting_key(s)),
			Value:   text(C.gpuctr_setting_value(s)),
			InList:  C.gpuctr_setting_in_list(s) != 0,
			Line:    uint32(C.gpuctr_setting_line(s)),
			Mistake: text(C.gpuctr_setting_mistake(s)),
		}
	}), nil
}
