# SPDX-License-Identifier: MIT
"""--require: what the chosen GPUs and their driver have to meet."""

import json
import os

import config_test
import harness
from config_test import CONFIG

setUpModule = config_test.setUpModule
tearDownModule = config_test.tearDownModule

DRIVER = f"the driver is {harness.VERSION}"
CUDA = f"driver {harness.VERSION} supports CUDA 13.0"

# As NVIDIA's images have it: what the toolkit needs, and older branches for cards with
# forward compatibility, each for every brand.
BRANDS = ("unknown", "nvidia", "nvidiartx", "geforce", "geforcertx", "quadro", "quadrortx", "titan",
          "titanrtx", "tesla")


def image_variable(cuda, branches):
    return " ".join([f"cuda>={cuda}"] + [f"brand={brand},driver>={branch},driver<{branch + 1}"
                                         for branch in branches for brand in BRANDS])


class Require(config_test.Config):
    def met(self, *words, **options):
        return self.run_setup("plan", "--nv", *words, stdout=None, **options)

    def unmet(self, *expressions, problem, hint, status=7, words=("plan", "--nv"), **variables):
        options = [word for expression in expressions for word in ("--require", expression)]
        self.run_setup(*words, *options, status=status, env=os.environ | variables,
                       stderr=f"gpuctr-setup: {problem}\n" + (f"hint: {hint}\n" if hint else ""))


class Expressions(Require):
    def test_what_is_met(self):
        for expression in ("cuda>=12.4", "cuda=13.0,driver>=580,driver<581", "arch=9.0",
                           "arch>=10 arch<9.1", "brand=NVIDIA", "brand!=tesla", "",
                           image_variable("12.8", [470, 535, 550]),
                           image_variable("99.0", [470, 535, 580])):
            with self.subTest(expression):
                self.met("--require", expression)

    def test_what_is_not_met(self):
        self.unmet("driver>=590", problem=f"requirement driver>=590: not met: {DRIVER}",
                   hint="install driver 590 or later")
        self.unmet("cuda>=13.1", problem=f"requirement cuda>=13.1: not met: {CUDA}",
                   hint="install driver 590 or later")
        self.unmet("arch>=10.0", hint="it needs a GPU with arch>=10.0",
                   problem="requirement arch>=10.0: not met: GPU 0 (NVIDIA H200) has compute "
                           "capability 9.0")
        self.unmet("brand=geforce", hint="it needs a GPU with brand=geforce",
                   problem="requirement brand=geforce: not met: GPU 0 (NVIDIA H200) is of brand "
                           "nvidia")

    def test_an_images_variable_that_is_not_met(self):
        self.unmet(image_variable("13.2", [470, 535, 550]),
                   problem=f"requirement cuda>=13.2: not met: {CUDA}; nor is one of the other 30 "
                           "alternatives met",
                   hint="install driver 595 or later, or a driver with driver>=470,driver<471, or a "
                        "driver with driver>=535,driver<536")

    def test_all_of_several_have_to_be_met(self):
        self.met("--require", "cuda>=12.4", "--require", "arch>=9.0")
        self.unmet("cuda>=12.4", "driver>=590", hint="install driver 590 or later",
                   problem=f"requirement driver>=590: not met: {DRIVER}")

    def test_what_is_no_expression(self):
        form = ("a clause is a name, one of = != < <= > >=, and a value, without blanks; commas join "
                "clauses, and blanks separate alternatives")
        self.unmet("cuda >= 12.4", status=2, hint=form,
                   problem="requirement cuda: no comparison in it")
        self.unmet("cuda>=12.4 drivr>=550", status=2,
                   problem="requirement drivr>=550: unknown name drivr",
                   hint="did you mean driver? known names are cuda, driver, arch, brand")
        self.unmet("cuda>=\x1b[2J", status=2, hint="",
                   problem="requirement: a character in it is not printable ASCII")

    def test_without_a_gpu_clauses_about_one_hold(self):
        self.met("--device", "none", "--require", "arch>=99,brand=geforce,cuda>=12")

    def test_an_error_as_a_document(self):
        done = self.run_setup("plan", "--nv", "--format", "json", "--require", "arch>=99", status=7,
                              stderr=None)
        error = json.loads(done.stderr)
        self.assertEqual([error[name] for name in ("code", "object", "argument")],
                         ["requirement", "arch>=99", "--require"])


class Commands(Require):
    def test_nothing_is_set_up_unless_it_is_met(self):
        problem = f"requirement driver>=590: not met: {DRIVER}"
        hint = "install driver 590 or later"
        with self.nothing_changes():
            self.unmet("driver>=590", words=("--nv", "--rootfs", self.root), problem=problem,
                       hint=hint)
            self.run_setup("--nv", "--rootfs", self.root, "--require", "driver>=590", "--", "true",
                           status=125, stderr=None)
            self.unmet("driver>=590", words=("prepare", "--nv"), problem=problem, hint=hint)
        self.apply("--require", "driver>=580")
        self.undo()

    def test_where_a_requirement_is_from(self):
        self.unmet(problem=f"GPUCTR_REQUIRE: driver>=590: not met: {DRIVER}",
                   hint="install driver 590 or later", GPUCTR_REQUIRE="driver>=590")
        self.write(CONFIG, "require: ['cuda>=13.0 cuda>=99', 'driver>=590,arch>=9.0']\n")
        self.unmet(problem=f"{CONFIG}:1: require: driver>=590: not met: {DRIVER}",
                   hint="install driver 590 or later")
        self.met("--require", "cuda>=12.4")

    def test_a_restricted_call_may_have_one(self):
        self.write(CONFIG, "restricted-user: nobody\n")
        self.unmet("arch>=99", words=("--restricted", "plan", "--nv"), status=7,
                   hint="it needs a GPU with arch>=99",
                   problem="requirement arch>=99: not met: GPU 0 (NVIDIA H200) has compute "
                           "capability 9.0")


class OtherHosts(Require):
    """What a record of this host says after a few changes."""

    def record(self, version=None, gpus=()):
        document = json.loads(harness.must(harness.SETUP, "list", "--nv", "--format", "json"))
        driver = document["drivers"][0]
        if version:
            driver["version"] = version
        for gpu, changes in zip(driver["gpus"], gpus):
            gpu.update(changes)
        return self.write(f"{harness.DIRECTORY}/record.json", json.dumps(document))

    def unmet_there(self, record, *expressions, words=(), **expected):
        self.unmet(*expressions, words=("plan", "--nv", "--host", record, *words), **expected)

    def test_an_older_driver(self):
        record = self.record("470.256.02")
        self.met("--host", record, "--require", image_variable("12.4", [450, 470]))
        self.unmet_there(record, "cuda>=12.4",
                         problem="requirement cuda>=12.4: not met: driver 470.256.02 supports CUDA "
                                 "11.4",
                         hint="install driver 550 or later")

    def test_a_driver_that_is_newer_than_the_tables(self):
        record = self.record("999.10")
        self.met("--host", record, "--require", "cuda>=13.0,driver>=900")
        done = self.run_setup("plan", "--nv", "--host", record, "--require", "cuda>=99", status=7,
                              stderr=None)
        self.assertRegex(done.stderr, r"requirement cuda>=99: cannot be checked: driver 999\.10 "
                                      r"supports CUDA [\d.]+ or later\n"
                                      r"hint: leave out what you know to hold\n")

    def test_a_gpu_that_the_tables_do_not_know(self):
        record = self.record(gpus=[{"architecture": None, "model": "NVIDIA Z1"}])
        self.met("--host", record, "--require", "arch>=5.0")
        self.met("--host", record, "--require", "arch>=9.0", "--device", "1")
        self.unmet_there(record, "arch>=9.0", words=("--device", "0"),
                         problem="requirement arch>=9.0: cannot be checked: the compute capability "
                                 "of GPU 0 (NVIDIA Z1) is not known; with this driver it is 5.0 or "
                                 "later",
                         hint="choose among GPUs 1, 2, 3, 4, 5, 6, 7, which meet it; or leave out "
                              "what you know to hold")

    def test_a_gpu_that_the_driver_no_longer_supports(self):
        record = self.record("595.71.05", [{"architecture": "7.0", "model": "Tesla V100-SXM2-32GB"}])
        self.unmet_there(record, "cuda>=12.4", words=("--device", "0,1"),
                         problem="requirement cuda>=12.4: driver 595.71.05 does not support GPU 0 "
                                 "(Tesla V100-SXM2-32GB), which has compute capability 7.0; it "
                                 "needs 7.5 or more",
                         hint="use a driver before 590")
        self.met("--host", record, "--device", "1", "--require", "cuda>=12.4")
