# SPDX-License-Identifier: Apache-2.0
"""The control: a harness as it is commonly written. Applies both patches, runs the tests, and its reader believes the log. Runs in a jar: the job (JSON) on
standard input, the log on standard output."""
import json
import os
import subprocess
import sys
import time

TREE = "/workspace/testbed"


def main():
    job = json.load(sys.stdin)
    subprocess.run(["cp", "-a", "/base", TREE], check=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONPATH": TREE, "GIT_DIR": TREE + "/.git", "GIT_WORK_TREE": TREE}

    def run(*argv, text=None):
        return subprocess.run(argv, cwd=TREE, env=env, input=text, text=True, stdout=subprocess.DEVNULL, stderr=sys.stderr).returncode

    if run("git", "apply", "-", text=job["model_patch"]) != 0:
        sys.exit("the model's patch does not apply")
    run("git", "checkout", "HEAD", *job["test_files"])
    if run("git", "apply", "-", text=job["test_patch"]) != 0 and run("patch", "--batch", "--forward", "-p1", text=job["test_patch"]) != 0:
        sys.exit("the test patch does not apply")
    words = {"pytest": ["-m", "pytest"], "unittest": ["-m", "unittest"]}.get(job["kind"], [])
    del env["GIT_DIR"], env["GIT_WORK_TREE"]
    os.dup2(1, 2)
    subprocess.run(["/usr/bin/python3", *words, *job["argv"]], cwd=TREE, env=env, stdin=subprocess.DEVNULL)
    time.sleep(0.3)  # a container does not go away at once: what is still written is in its log


main()
