// SPDX-License-Identifier: MIT

// Tests on the simulated host "h200-x8", with eight GPUs. GPUCTR_TEST_ROOTFS is a root file system
// that may be changed.
package gpucontainer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gpucontainer"
)

var rootPath = os.Getenv("GPUCTR_TEST_ROOTFS")

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, wanted %v", what, got, wanted)
	}
}

func openHost(t *testing.T) *gpucontainer.Host {
	if rootPath == "" {
		t.Skip("GPUCTR_TEST_ROOTFS is not set")
	}
	host := must(gpucontainer.OpenHost(gpucontainer.HostOptions{}))(t)
	t.Cleanup(host.Close)
	return host
}

func openRoot(t *testing.T) *os.File {
	root := must(gpucontainer.OpenRoot(rootPath))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

func makePlan(t *testing.T, root *os.File, devices string) *gpucontainer.Plan {
	request := gpucontainer.Request{Devices: devices}
	return must(gpucontainer.NewPlan(openHost(t), root, request))(t)
}

func indexes(gpus []gpucontainer.GPU) string {
	var all []uint32
	for _, gpu := range gpus {
		all = append(all, gpu.Index)
	}
	return fmt.Sprint(all)
}

func isDevice(name string) bool {
	info, err := os.Stat(filepath.Join(rootPath, name))
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

func TestListsWhatTheHostHas(t *testing.T) {
	host := openHost(t)
	drivers := host.Drivers()

	equal(t, "drivers", len(drivers), 1)
	driver := drivers[0]
	equal(t, "driver", driver.Vendor+" "+driver.Version, "nvidia 580.159.04")
	equal(t, "GPUs", indexes(driver.GPUs), "[0 1 2 3 4 5 6 7]")
	equal(t, "model", driver.GPUs[0].Model, "NVIDIA H200")
	equal(t, "minor", *driver.GPUs[3].Minor, 3)
	if driver.GPUs[0].NUMANode != nil {
		t.Error("a NUMA node")
	}
	for _, file := range driver.Files {
		if file.Soname == "libcuda.so.1" {
			equal(t, "links", fmt.Sprint(file.Links), "[libcuda.so.1 libcuda.so]")
			info := must(os.Stat(file.Path))(t)
			equal(t, "inode", file.Identity.Inode, info.Sys().(*syscall.Stat_t).Ino)
		}
	}
	node := driver.Nodes[0]
	for _, other := range driver.Nodes {
		if other.ContainerPath == "/dev/nvidia7" {
			node = other
		}
	}
	equal(t, "node", node.ContainerPath, "/dev/nvidia7")
	equal(t, "number", fmt.Sprint(node.Major, node.Minor, *node.GPU), "195 7 7")
	equal(t, "mode", node.Mode, 0o666)
	equal(t, "owner", *node.UID, 0)
	equal(t, "findings", len(host.Findings()), 0)
}

func TestHostComesBackFromJSON(t *testing.T) {
	json := must(openHost(t).JSON())(t)

	again := must(gpucontainer.HostFromJSON(json, gpucontainer.HostOptions{}))(t)

	if !bytes.Equal(must(again.JSON())(t), json) {
		t.Error("it differs")
	}
	if _, err := gpucontainer.HostFromJSON(nil, gpucontainer.HostOptions{}); !errors.Is(err,
		gpucontainer.ErrUsage) {
		t.Error(err)
	}
}

func TestOptionsReachTheLibrary(t *testing.T) {
	openHost(t)
	for _, one := range []struct {
		options gpucontainer.HostOptions
		wanted  error
	}{
		{gpucontainer.HostOptions{Vendors: []string{"nvidia", "amd"}}, gpucontainer.ErrNoDevice},
		{gpucontainer.HostOptions{Vendors: []string{"nvidia", gpucontainer.VendorAny}}, nil},
		{gpucontainer.HostOptions{Catalogues: []string{"/nonexistent"}}, fs.ErrNotExist},
		{gpucontainer.HostOptions{DriverRoot: "/a\x00b"}, gpucontainer.ErrUsage},
	} {
		if _, err := gpucontainer.OpenHost(one.options); !errors.Is(err, one.wanted) {
			t.Errorf("%+v: %v", one.options, err)
		}
	}
}

func TestCapturesTheHostWithoutIdentities(t *testing.T) {
	uuid := []byte(openHost(t).Drivers()[0].GPUs[0].UUID)
	for _, withIdentities := range []bool{false, true} {
		file := must(os.Create(filepath.Join(t.TempDir(), "report")))(t)
		defer file.Close()
		var replaced bool
		options := gpucontainer.CaptureOptions{
			Environment:    []string{"CUDA_VISIBLE_DEVICES=5", "HOME=/home/somebody"},
			WithIdentities: withIdentities,
			Report: func(finding gpucontainer.Finding) {
				replaced = replaced || finding.Code == "identity_replaced"
			},
		}
		if err := gpucontainer.Capture(file, options); err != nil {
			t.Fatal(err)
		}
		content := must(os.ReadFile(file.Name()))(t)
		equal(t, "UUID", bytes.Contains(content, uuid), withIdentities)
		equal(t, "replaced", replaced, !withIdentities)
		equal(t, "variable", bytes.Contains(content, []byte("CUDA_VISIBLE_DEVICES")), true)
		equal(t, "name", bytes.Contains(content, []byte("somebody")), false)
	}
	if err := gpucontainer.Capture(nil, gpucontainer.CaptureOptions{}); !errors.Is(err,
		gpucontainer.ErrUsage) {
		t.Error(err)
	}
}

func TestErrorSaysWhatIsWrongWithWhichArgument(t *testing.T) {
	_, err := gpucontainer.NewPlan(openHost(t), nil, gpucontainer.Request{Devices: "99"})

	var failure *gpucontainer.Error
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	equal(t, "code", failure.Code, gpucontainer.ErrUsage)
	equal(t, "argument", failure.Argument, "devices")
	if failure.Hint == "" || !strings.Contains(err.Error(), "99") {
		t.Errorf("%+v", failure)
	}
}

func TestClosedHostSaysSo(t *testing.T) {
	host := openHost(t)
	host.Close()
	host.Close()

	if _, err := host.JSON(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := gpucontainer.NewPlan(host, nil, gpucontainer.Request{}); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestHostMayBeClosedWhileOthersReadIt(t *testing.T) {
	host := openHost(t)
	var readers sync.WaitGroup
	var started sync.WaitGroup
	for i := 0; i < 4; i++ {
		readers.Add(1)
		started.Add(1)
		go func() {
			defer readers.Done()
			host.Drivers()
			started.Done()
			for len(host.Drivers()) > 0 {
			}
		}()
	}
	started.Wait()
	host.Close()
	readers.Wait()
}

// Without a root, a list has the set-ups of the whole host.
func TestClosedRootSaysSo(t *testing.T) {
	host := openHost(t)
	root := openRoot(t)
	plan := makePlan(t, root, "0")
	root.Close()

	for name, call := range map[string]func() error{
		"plan":   func() error { return second(gpucontainer.NewPlan(host, root, gpucontainer.Request{})) },
		"apply":  func() error { return second(plan.Apply(root, gpucontainer.ApplyOptions{})) },
		"undo":   func() error { return second(gpucontainer.Undo(root, gpucontainer.UndoOptions{})) },
		"list":   func() error { return second(gpucontainer.OpenSetupList(root, gpucontainer.SetupListOptions{})) },
		"open":   func() error { return second(gpucontainer.OpenInRoot(root, "etc", os.O_RDONLY)) },
		"attach": func() error { return (&gpucontainer.Prepared{}).Attach(root) },
		"check":  func() error { return second(gpucontainer.NewCheck(root, gpucontainer.CheckOptions{})) },
		"image":  func() error { return second(gpucontainer.FindImage(root)) },
	} {
		if err := call(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestZeroValueIsAsClosed(t *testing.T) {
	var host gpucontainer.Host
	host.Close()

	equal(t, "drivers", len(host.Drivers()), 0)
	if _, err := (gpucontainer.Setup{}).Undo(gpucontainer.UndoOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestPlanShowsWhatWouldBeDone(t *testing.T) {
	openHost(t)
	plan := makePlan(t, openRoot(t), "1,2")

	equal(t, "GPUs", indexes(plan.Drivers()[0].GPUs), "[1 2]")
	equal(t, "layout", plan.Layout(), gpucontainer.LayoutTree)
	equal(t, "tree", plan.TreePath(), "/usr/lib/gpuctr")
	equal(t, "locked", plan.IsLocked(), false)
	items := map[string]gpucontainer.Item{}
	for _, item := range plan.Items() {
		items[item.Target] = item
	}
	device := items["/dev/nvidia2"]
	equal(t, "device", fmt.Sprint(device.Major, device.Minor, device.Required), "195 2 true")
	cache := items["/etc/ld.so.cache"]
	if !bytes.HasPrefix(cache.Content, []byte("glibc-ld.so.cache1.1")) || device.Content != nil {
		t.Error("wrong content")
	}
	equal(t, "mode", cache.Mode, 0o644)
	equal(t, "rule", plan.DeviceRules()[0].Type+plan.DeviceRules()[0].Access, "crw")
	equal(t, "groups", len(plan.Groups()), 0)
	if !bytes.Contains(must(plan.JSON())(t), []byte("gpucontainer/plan/1")) {
		t.Error("not a plan")
	}
}

func TestSaysWhy(t *testing.T) {
	openHost(t)
	root := openRoot(t)
	plan := makePlan(t, root, "1,2")
	explanation := must(plan.Explain("libcuda.so", root))(t)
	plan.Close()

	answer := explanation.Answers()[0]
	equal(t, "answer", answer.Kind+" "+answer.Name+" "+answer.Vendor, "library libcuda.so.1 nvidia")
	equal(t, "given", answer.IsGiven, true)
	wanted := must(os.Stat(answer.Items[0].Source))(t)
	equal(t, "same file", os.SameFile(must(os.Stat(answer.Path))(t), wanted), true)
	equal(t, "reason", answer.Reason != "", true)
	if !bytes.Contains(must(explanation.JSON())(t), []byte("gpucontainer/why/1")) {
		t.Error("not an explanation")
	}
}

func TestSaysWhyNot(t *testing.T) {
	openHost(t)
	plan := makePlan(t, nil, "1,2")

	answer := must(plan.Explain("nvidia0", nil))(t).Answers()[0]

	equal(t, "answer", answer.Kind+" "+answer.Name, "node /dev/nvidia0")
	equal(t, "given", fmt.Sprint(answer.IsGiven, len(answer.Items)), "false 0")
	equal(t, "remedies", strings.Contains(strings.Join(answer.Remedies, " "), "--device"), true)
	if _, err := plan.Explain("libnothing.so", nil); !errors.Is(err, gpucontainer.ErrUsage) {
		t.Error(err)
	}
}

func TestAutoFollowsTheEnvironment(t *testing.T) {
	request := gpucontainer.Request{Environment: []string{"CUDA_VISIBLE_DEVICES=5"}}

	plan := must(gpucontainer.NewPlan(openHost(t), nil, request))(t)

	equal(t, "GPUs", indexes(plan.Drivers()[0].GPUs), "[5]")
}

func TestDecidesAboutTheCLibraryIfAsked(t *testing.T) {
	host := openHost(t)
	root := openRoot(t)
	for _, glibc := range []gpucontainer.Glibc{gpucontainer.GlibcNever, gpucontainer.GlibcAuto} {
		request := gpucontainer.Request{Glibc: glibc, Program: "sh"}
		decided := false
		for _, finding := range must(gpucontainer.NewPlan(host, root, request))(t).Findings() {
			decided = decided || finding.Code == "c_library_decided"
		}
		equal(t, "decided", decided, glibc == gpucontainer.GlibcAuto)
	}
}

func TestRequirementsHaveToBeMet(t *testing.T) {
	host := openHost(t)
	request := gpucontainer.Request{Requirements: []string{"cuda>=1 arch>=99", "arch>=99"}}

	_, err := gpucontainer.NewPlan(host, nil, request)

	if !errors.Is(err, gpucontainer.ErrRequirement) {
		t.Fatal(err)
	}
	request.Requirements = request.Requirements[:1]
	plan := must(gpucontainer.NewPlan(host, nil, request))(t)
	if err := plan.CheckRequirement("driver>=1"); err != nil {
		t.Error(err)
	}
	var failure *gpucontainer.Error
	if err := plan.CheckRequirement("brand=none"); !errors.As(err, &failure) {
		t.Fatal(err)
	}
	equal(t, "code", failure.Code, gpucontainer.ErrRequirement)
	equal(t, "object", failure.Object, "brand=none")
}

func serious(check *gpucontainer.Check) string {
	var found []string
	for _, finding := range check.Findings() {
		if finding.Severity >= gpucontainer.Warning {
			found = append(found, finding.String())
		}
	}
	return strings.Join(found, "; ")
}

func TestCheckFindsNothingWrong(t *testing.T) {
	record := must(gpucontainer.HostFromJSON(must(openHost(t).JSON())(t), gpucontainer.HostOptions{}))(t)
	for _, options := range []gpucontainer.CheckOptions{
		{Program: "sh"}, {Record: record},
	} {
		check := must(gpucontainer.NewCheck(openRoot(t), options))(t)
		equal(t, "findings", serious(check), "")
		if !bytes.Contains(must(check.JSON())(t), []byte("gpucontainer/check/1")) {
			t.Error("not a diagnosis")
		}
	}
	host := must(gpucontainer.NewCheck(nil, gpucontainer.CheckOptions{}))(t)
	equal(t, "findings of the host", serious(host), "")
}

func TestCheckSaysWhatStopsPrograms(t *testing.T) {
	openHost(t)
	root := openRoot(t)
	options := gpucontainer.CheckOptions{Request: gpucontainer.Request{Devices: "99"}}

	check := must(gpucontainer.NewCheck(root, options))(t)

	finding := check.Findings()[0]
	equal(t, "severity", finding.Severity, gpucontainer.Broken)
	equal(t, "evidence", finding.Evidence, "devices")
	equal(t, "text", strings.Contains(finding.String(), "99"), true)
	options = gpucontainer.CheckOptions{Program: "/usr/bin/missing"}
	check = must(gpucontainer.NewCheck(root, options))(t)
	equal(t, "code", check.Findings()[0].Code, "program_missing")
	options = gpucontainer.CheckOptions{Host: gpucontainer.HostOptions{Vendors: []string{"amd"}}}
	check = must(gpucontainer.NewCheck(root, options))(t)
	equal(t, "severity", check.Findings()[0].Severity, gpucontainer.Broken)
	check.Close()
	if _, err := check.JSON(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestCheckLooksAtAProcess(t *testing.T) {
	mounting(t)
	container := exec.Command("/bin/sleep", "60")
	container.SysProcAttr = &syscall.SysProcAttr{Chroot: rootPath}
	if err := container.Start(); err != nil {
		t.Fatal(err)
	}
	defer container.Wait()
	defer container.Process.Kill()
	process := openProcess(t, container.Process.Pid)
	root := must(gpucontainer.OpenRoot(fmt.Sprintf("/proc/%d/root", container.Process.Pid)))(t)
	defer root.Close()
	options := gpucontainer.CheckOptions{Process: process}

	found := serious(must(gpucontainer.NewCheck(root, options))(t))

	equal(t, "not set up: "+found, strings.Contains(found, "/dev/nvidiactl"), true)
	var failure *gpucontainer.Error
	if _, err := gpucontainer.NewCheck(nil, options); !errors.As(err, &failure) {
		t.Fatal(err)
	}
	equal(t, "argument", failure.Argument, "pidfd")
}

func TestFindsTheRootFileSystemOfAnImage(t *testing.T) {
	squashfs := make([]byte, 128)
	copy(squashfs, "hsqs")
	squashfs[28] = 4  // its version
	squashfs[40] = 96 // its size
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, squashfs, 0o600); err != nil {
		t.Fatal(err)
	}
	file := must(os.Open(path))(t)
	defer file.Close()

	equal(t, "image", must(gpucontainer.FindImage(file))(t), gpucontainer.ImagePlace{Size: 128})
	other := must(os.Open("/etc/passwd"))(t)
	defer other.Close()
	must(path, gpucontainer.CheckImageTrust(file, path))(t)
	if err := gpucontainer.CheckImageTrust(other, path); !errors.Is(err, gpucontainer.ErrUsage) {
		t.Error(err)
	}
	must(path, os.Chmod(path, 0o666))(t)
	if err := gpucontainer.CheckImageTrust(file, path); !errors.Is(err, gpucontainer.ErrPermission) {
		t.Error(err)
	}
	if _, err := gpucontainer.FindImage(other); !errors.Is(err, gpucontainer.ErrRootfs) {
		t.Error(err)
	}
}

func openProcess(t *testing.T, pid int) *os.File {
	const pidfdOpen = 434
	pidfd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	process := os.NewFile(pidfd, "pidfd")
	t.Cleanup(func() { process.Close() })
	return process
}

// mounting skips a test that is for root, and undoes what it did.
func mounting(t *testing.T) (root *os.File, state string) {
	openHost(t)
	if os.Geteuid() != 0 {
		t.Skip("mounting is for root")
	}
	root = openRoot(t)
	state = t.TempDir()
	t.Cleanup(func() {
		again := must(gpucontainer.OpenRoot(rootPath))(t)
		defer again.Close()
		must(gpucontainer.Undo(again, gpucontainer.UndoOptions{StateDir: state}))(t)
	})
	return root, state
}

func TestAppliesShowsAndUndoes(t *testing.T) {
	root, state := mounting(t)
	plan := makePlan(t, root, "0")
	options := gpucontainer.ApplyOptions{StateDir: state}

	equal(t, "first", must(plan.Apply(root, options))(t), gpucontainer.Applied)
	equal(t, "device", isDevice("dev/nvidia0"), true)
	equal(t, "second", must(plan.Apply(root, options))(t), gpucontainer.Unchanged)
	options.NoReplace = true
	if _, err := makePlan(t, root, "1").Apply(root, options); !errors.Is(err, gpucontainer.ErrExists) {
		t.Error(err)
	}
	list := must(gpucontainer.OpenSetupList(root, gpucontainer.SetupListOptions{StateDir: state}))(t)
	setups := list.Setups()
	equal(t, "set-ups", len(setups), 1)
	equal(t, "set-up", setups[0].Root+" "+setups[0].Origin, rootPath+" here")
	equal(t, "findings", len(setups[0].Findings), 0)

	undo := gpucontainer.UndoOptions{StateDir: state}
	equal(t, "undo", must(gpucontainer.Undo(root, undo))(t), true)
	equal(t, "undo again", must(gpucontainer.Undo(root, undo))(t), false)
	equal(t, "device", isDevice("dev/nvidia0"), false)
}

func TestUndoesOneOfAList(t *testing.T) {
	root, state := mounting(t)
	must(makePlan(t, root, "0").Apply(root, gpucontainer.ApplyOptions{StateDir: state}))(t)

	list := must(gpucontainer.OpenSetupList(nil, gpucontainer.SetupListOptions{StateDir: state}))(t)
	undone := must(list.Setups()[0].Undo(gpucontainer.UndoOptions{StateDir: state}))(t)

	equal(t, "undone", undone, gpucontainer.UndoneNow)
}

func TestReportsWhatItFound(t *testing.T) {
	root, state := mounting(t)
	must(makePlan(t, root, "0").Apply(root, gpucontainer.ApplyOptions{StateDir: state}))(t)
	// What a program in the container made stays, and is reported.
	node := filepath.Join(rootPath, "dev/nvidia7")
	if err := syscall.Mknod(node, syscall.S_IFCHR|0o666, 195<<8|7); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(node)
	var found []gpucontainer.Finding

	must(gpucontainer.Undo(root, gpucontainer.UndoOptions{
		StateDir: state,
		Report:   func(finding gpucontainer.Finding) { found = append(found, finding) },
	}))(t)

	equal(t, "findings", len(found), 1)
	equal(t, "code", found[0].Code, "node_left")
	equal(t, "severity", found[0].Severity, gpucontainer.Warning)
	equal(t, "text", strings.Contains(found[0].String(), "/dev/nvidia7"), true)
}

func TestReportMayCloseWhatItIsAbout(t *testing.T) {
	root, state := mounting(t)
	must(makePlan(t, root, "0").Apply(root, gpucontainer.ApplyOptions{StateDir: state}))(t)
	node := filepath.Join(rootPath, "dev/nvidia7")
	if err := syscall.Mknod(node, syscall.S_IFCHR|0o666, 195<<8|7); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(node)
	list := must(gpucontainer.OpenSetupList(root, gpucontainer.SetupListOptions{StateDir: state}))(t)
	done := make(chan error)

	go func() {
		_, err := list.Setups()[0].Undo(gpucontainer.UndoOptions{
			StateDir: state,
			Report:   func(gpucontainer.Finding) { list.Close() },
		})
		done <- err
	}()

	select {
	case err := <-done:
		if _, closed := list.JSON(); err != nil || !errors.Is(closed, os.ErrClosed) {
			t.Error(err, closed)
		}
	case <-time.After(time.Minute):
		t.Fatal("the report waits for its own call")
	}
}

func TestAppliesInTheNamespaceOfAProcess(t *testing.T) {
	root, state := mounting(t)
	root.Close()
	container := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c",
		"mount --bind "+rootPath+" "+rootPath+" && exec chroot "+rootPath+" sleep 60")
	if err := container.Start(); err != nil {
		t.Fatal(err)
	}
	defer container.Wait()
	defer container.Process.Kill()
	proc := fmt.Sprintf("/proc/%d/root", container.Process.Pid)
	for {
		inside, err := os.Stat(proc + "/etc/passwd")
		outside := must(os.Stat(filepath.Join(rootPath, "etc/passwd")))(t)
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", container.Process.Pid))
		if err == nil && os.SameFile(inside, outside) && string(command) == "sleep\n" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	process := openProcess(t, container.Process.Pid)
	inside := must(gpucontainer.OpenRoot(proc))(t)
	defer inside.Close()
	plan := makePlan(t, inside, "0")

	options := gpucontainer.ApplyOptions{StateDir: state, Process: process}
	must(plan.Apply(inside, options))(t)
	tree := "/usr/lib/gpuctr/lib64"
	_, err := os.Stat(proc + tree)
	equal(t, "tree in the container", err == nil, true)
	_, err = os.Stat(rootPath + tree)
	equal(t, "tree outside", errors.Is(err, fs.ErrNotExist), true)
	equal(t, "undo", must(gpucontainer.Undo(inside,
		gpucontainer.UndoOptions{StateDir: state, Process: process}))(t), true)
}

func TestPreparedIsAttachedThroughAnotherObject(t *testing.T) {
	openHost(t)
	if os.Geteuid() != 0 {
		t.Skip("mounting is for root")
	}
	for _, flags := range []uintptr{syscall.MS_BIND, syscall.MS_PRIVATE} {
		if err := syscall.Mount(rootPath, rootPath, "", flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	defer syscall.Unmount(rootPath, syscall.MNT_DETACH)
	root := openRoot(t)
	prepared := must(makePlan(t, root, "0").Prepare(gpucontainer.PrepareOptions{}))(t)
	var copies []int
	for _, fd := range prepared.Fds() {
		copies = append(copies, must(syscall.Dup(fd))(t))
	}
	adopted := must(gpucontainer.AdoptPrepared(prepared.Data(), copies))(t)
	prepared.Close()
	defer adopted.Close()

	if err := adopted.Attach(root); err != nil {
		t.Fatal(err)
	}
	equal(t, "device", isDevice("dev/nvidia0"), true)
	if err := adopted.Undo(root); err != nil {
		t.Fatal(err)
	}
	equal(t, "device", isDevice("dev/nvidia0"), false)
	if err := adopted.Attach(nil); !errors.Is(err, gpucontainer.ErrUsage) {
		t.Error(err)
	}
	if _, err := gpucontainer.AdoptPrepared([]byte("something else"), nil); err == nil {
		t.Error("adopted something else")
	}
}

func TestStagesATreeOnce(t *testing.T) {
	root, state := mounting(t)
	plan := makePlan(t, root, "0")
	directory := filepath.Join(state, "staged")
	var options gpucontainer.StageOptions

	equal(t, "first", must(plan.Stage(directory, options))(t), gpucontainer.StagedNow)
	equal(t, "second", must(plan.Stage(directory, options))(t), gpucontainer.StagedUnchanged)
	equal(t, "unstage", must(gpucontainer.Unstage(directory, options))(t), true)
	equal(t, "again", must(gpucontainer.Unstage(directory, options))(t), false)
}

func TestOpensWithinTheRoot(t *testing.T) {
	openHost(t)
	escape := filepath.Join(rootPath, "escape")
	if err := os.Symlink("/etc/passwd", escape); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(escape)

	opened := must(gpucontainer.OpenInRoot(openRoot(t), "escape", os.O_RDONLY))(t)

	defer opened.Close()
	wanted := must(os.Stat(filepath.Join(rootPath, "etc/passwd")))(t)
	equal(t, "same file", os.SameFile(must(opened.Stat())(t), wanted), true)
}

func TestReadsWhatAContainerAsksFor(t *testing.T) {
	variables, findings, err := gpucontainer.ReadContainerEnvironment(nil, "NVIDIA_VISIBLE_DEVICES=2,3\nX=$Y\n",
		[]string{"APPTAINERENV_Z=1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(variables) != 2 || variables[0] != "NVIDIA_VISIBLE_DEVICES=2,3" || variables[1] != "Z=1" {
		t.Error(variables)
	}
	if len(findings) != 1 {
		t.Error(findings)
	}
	if _, _, err := gpucontainer.ReadContainerEnvironment(nil, "{", nil); err == nil {
		t.Error("a text that is none was read")
	}
}

func TestReadsSettingsAndMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("state-dir: /a\ncatalogue: [/b]\n")
	equal(t, "settings", fmt.Sprint(must(gpucontainer.ReadConfig(path))(t)),
		"[{state-dir /a false 1 } {catalogue /b true 2 }]")
	write("State_Dir: [[1]]\n")
	if _, err := gpucontainer.ReadConfig(path); err == nil {
		t.Error("no error")
	}
	settings := must(gpucontainer.ReadConfigWithMistakes(path))(t)
	equal(t, "mistake", strings.Contains(settings[0].Mistake, path), true)
}

func TestDropsPrivilegesOfAThread(t *testing.T) {
	status := make(chan string)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := gpucontainer.Harden(gpucontainer.HardenOptions{Dumpable: true})
		text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", syscall.Gettid()))
		status <- fmt.Sprint(err, string(text))
	}()
	if text := <-status; !strings.Contains(text, "CapEff:\t0000000000000000") {
		t.Error(text)
	}
}
