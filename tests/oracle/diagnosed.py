# SPDX-License-Identifier: MIT
"""What `gpuctr-setup check` says of the cases, and whether it is right."""

import dataclasses
import json

import stand

# The words of the command, by the names that the C interface has for them.
OPTIONS = {"--device": "devices", "--driver-root": "driver_root", "imex-channel": "extras",
           "--driver-capabilities": "driver_capabilities", "compat32": "driver_capabilities"}
WRONG = 9  # the exit status
# Files that not every kernel has, and gpuctr-simhost cannot show where they are missing.
OF_SOME_KERNELS = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                   "/proc/sys/kernel/unprivileged_userns_clone")


@dataclasses.dataclass
class Diagnosis:
    """The findings of one case."""

    case: str
    expected: dict
    status: int
    findings: list
    said: str  # on standard error

    def alarms(self):
        return [finding for finding in self.findings if finding["severity"] in ("warning", "error")]

    def place(self, fault):
        """The position of the finding that is right for it; None if there is none."""
        for place, finding in enumerate(self.findings):
            if is_right(finding, fault):
                return place
        return None

    def first(self):
        """The keys of the faults for which the first finding is right."""
        return [fault["key"] for fault in self.expected["faults"]
                if self.findings and is_right(self.findings[0], fault)]

    def has_right_first(self):
        return any(key in self.expected["first"] for key in self.first())

    def names_all(self):
        return all(self.place(fault) is not None for fault in self.expected["faults"])


def evidence_paths(fault):
    """The paths by which a finding may show the fault."""
    paths = set()
    for evidence in fault["evidence"]:
        if evidence["before"]:
            continue
        path = evidence["path"].split("#")[0]
        if evidence["where"] == "request":
            path = path.split("/", 1)[-1] if path not in ("program", "user") else path
            if path == "options":
                paths |= {name for word, name in OPTIONS.items() if word in evidence["value"]}
                # Without an option, the value itself is what was asked for.
                if evidence["value"].startswith("GPU-"):
                    paths.add("devices")
                continue
            if evidence["path"] == "program":
                path = evidence["value"]
        paths.add(path)
    return paths


def severity_of(fault):
    if fault["mended"]:
        return {"note", "warning", "error"}
    if not fault["certain"] or fault["blocks"] == "some":
        return {"warning"}
    return {"error"}


def is_right(finding, fault):
    return (finding["evidence"] in evidence_paths(fault)
            and finding["severity"] in severity_of(fault))


def words_of(request, image):
    words = ["check", request["vendor"], "--rootfs", image, *request["options"], "--format", "json"]
    for name, value in request["container_environment"].items():
        words += ["--request-env", f"{name}={value}"]
    return words + (["--", *request["program"]] if request["program"] else [])


def diagnose(simhost, setup, case):
    """None if not every machine can show the case."""
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    if any(evidence["path"] in OF_SOME_KERNELS for fault in expected["faults"]
           for evidence in fault["evidence"]):
        return None
    request = json.loads((case / "request.json").read_text(encoding="utf-8"))
    done = stand.run(simhost, case, setup, *words_of(request, case / "image"))
    if done.returncode == stand.NO_CGROUP:
        return None
    findings = json.loads(done.stdout)["findings"] if done.returncode in (0, WRONG) else []
    return Diagnosis(case.name, expected, done.returncode, findings, done.stderr)


def table(diagnoses):
    """The lines of docs/check.md."""
    lines = ["| cases | how many | right cause first | all causes named | false alarms |",
             "| --- | --- | --- | --- | --- |"]
    kinds = {"each fault alone": lambda one: len(one.expected["faults"]) == 1,
             "two faults": lambda one: len(one.expected["faults"]) == 2,
             "healthy": lambda one: one.expected["healthy"]}
    for kind, belongs in kinds.items():
        cases = [one for one in diagnoses if belongs(one)]
        if kind == "healthy":
            alarms = sum(bool(one.alarms()) for one in cases)
            lines.append(f"| {kind} | {len(cases)} | | | {alarms} |")
            continue
        first = sum(one.has_right_first() for one in cases)
        named = sum(one.names_all() for one in cases)
        lines.append(f"| {kind} | {len(cases)} | {first} | {named} | |")
    wrong = [one for one in diagnoses if not one.expected["healthy"]
             and not (one.has_right_first() and one.names_all())]
    lines += ["", "Not right: " + (", ".join(f"`{one.case}`" for one in
                                            sorted(wrong, key=lambda one: one.case)) or "none")
              + "."]
    return lines
