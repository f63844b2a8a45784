// SPDX-License-Identifier: MIT

// judge says what the library for Go that engines use takes for a specification of CDI.
//
//	judge documents FILE.go...  prints those in the text of its tests
//	judge verdicts FILE...      reads specifications
//	judge devices DIR...        reads directories
//	judge injected CONFIG DIR DEVICE...  puts devices of a directory into a configuration
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/schema"
	"tags.cncf.io/container-device-interface/specs-go"
)

// A device that engines take from a file, or what is wrong with a file.
type verdict struct {
	Version string // the newest one that the library knows
	Fault   string // of the reader that engines have, or ""
	Schema  string // of the JSON schema, or ""
	Devices map[string]string
	Files   []string // with faults
}

type document struct {
	Place string
	Text  string
}

func fault(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The library panics for some names.
func read(path string) (text string) {
	defer func() {
		if why := recover(); why != nil {
			text = fmt.Sprint("panic: ", why)
		}
	}()
	_, err := cdi.ReadSpec(path, 0)
	return fault(err)
}

func verdicts(paths []string) any {
	all := []verdict{}
	for _, path := range paths {
		all = append(all, verdict{Version: specs.CurrentVersion, Fault: read(path),
			Schema: fault(schema.BuiltinSchema().ValidateFile(path))})
	}
	return all
}

func devices(directories []string) any {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(directories...), cdi.WithAutoRefresh(false))
	if err != nil {
		panic(err)
	}
	said := verdict{Version: specs.CurrentVersion, Devices: map[string]string{}, Files: []string{}}
	for _, name := range cache.ListDevices() {
		said.Devices[name] = cache.GetDevice(name).GetSpec().GetPath()
	}
	for path := range cache.GetErrors() {
		said.Files = append(said.Files, path)
	}
	return said
}

func documents(paths []string) any {
	all := []document{}
	for _, path := range paths {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			panic(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			literal, is := node.(*ast.BasicLit)
			if is && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				if strings.Contains(text, "\n") && strings.Contains(text, "cdiVersion") {
					all = append(all, document{files.Position(literal.Pos()).String(), text})
				}
			}
			return true
		})
	}
	return all
}

func injected(words []string) any {
	text, err := os.ReadFile(words[0])
	if err != nil {
		panic(err)
	}
	config := &oci.Spec{}
	if err := json.Unmarshal(text, config); err != nil {
		panic(err)
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(words[1]), cdi.WithAutoRefresh(false))
	if err != nil {
		panic(err)
	}
	if _, err := cache.InjectDevices(config, words[2:]...); err != nil {
		panic(err)
	}
	return config
}

func main() {
	ways := map[string]func([]string) any{
		"documents": documents, "verdicts": verdicts, "devices": devices, "injected": injected}
	if err := json.NewEncoder(os.Stdout).Encode(ways[os.Args[1]](os.Args[2:])); err != nil {
		panic(err)
	}
}
