/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that programs of the host act on by themselves (HI-14): shells, editors, package managers, build tools, test runners, version
 * control, agents. A file of such a name, or anything in a folder of such a name, is marked when it comes out of a jar. This table marks
 * and refuses nothing. Case does not count, for hosts that fold it.
 *
 *     ACT_NAME(name)     any part of a path
 *     ACT_GLOB(pattern)  the last part of a path, as fnmatch(3) has it
 *     ACT_MODULE(name)   name.py where no __init__.py lies beside it: Python loads it in the place of its own module
 */
/* clang-format off */

/* shells, terminals, sessions */
ACT_NAME(".bash_aliases") ACT_NAME(".bash_login") ACT_NAME(".bash_logout") ACT_NAME(".bash_profile") ACT_NAME(".profile")
ACT_NAME(".zlogin") ACT_NAME(".zprofile") ACT_NAME(".zshenv") ACT_NAME(".envrc") ACT_NAME(".env") ACT_NAME(".tmux.conf")
ACT_NAME(".xprofile") ACT_NAME(".xsession") ACT_NAME(".config") ACT_NAME(".local")
/* .bashrc, .zshrc, .npmrc, .pdbrc, .irbrc, .screenrc, .netrc, .xinitrc, .hgrc, .bazelrc ...: run commands, by their very name */
ACT_GLOB(".*rc") ACT_GLOB(".*rc.js") ACT_GLOB(".*rc.cjs") ACT_GLOB(".*rc.mjs") ACT_GLOB(".*rc.json") ACT_GLOB(".*rc.yml") ACT_GLOB(".*rc.yaml")
ACT_GLOB(".*rc.toml")

/* keys and trust */
ACT_NAME(".ssh") ACT_NAME(".gnupg") ACT_NAME(".git-credentials")

/* debuggers, editors */
ACT_NAME(".gdbinit") ACT_NAME(".lldbinit") ACT_NAME(".nvim.lua") ACT_NAME(".dir-locals.el") ACT_NAME(".dir-locals-2.el") ACT_NAME(".vscode")
ACT_NAME(".idea") ACT_NAME(".zed") ACT_NAME(".fleet") ACT_NAME(".devcontainer") ACT_NAME(".devcontainer.json")
ACT_GLOB("*.code-workspace") ACT_GLOB("*.sublime-project")

/* version control: what lies beside its own data (that is refused: vcs_names in acting.c) */
ACT_NAME(".gitmodules") ACT_NAME(".gitattributes") ACT_NAME(".gitconfig") ACT_NAME(".githooks") ACT_NAME(".hgsub") ACT_NAME(".svn")
ACT_NAME(".bzr") ACT_NAME(".husky") ACT_NAME(".pre-commit-config.yaml") ACT_NAME("lefthook.yml") ACT_NAME("lefthook.yaml")
ACT_NAME(".lefthook.yml")

/* services that build what is pushed */
ACT_NAME(".github") ACT_NAME(".gitea") ACT_NAME(".forgejo") ACT_NAME(".circleci") ACT_NAME(".gitlab-ci.yml") ACT_NAME(".travis.yml")
ACT_NAME("azure-pipelines.yml") ACT_NAME("bitbucket-pipelines.yml") ACT_NAME("Jenkinsfile") ACT_NAME(".drone.yml") ACT_NAME("appveyor.yml")

/* Python */
ACT_NAME("conftest.py") ACT_NAME("sitecustomize.py") ACT_NAME("usercustomize.py") ACT_NAME("setup.py") ACT_NAME("setup.cfg")
ACT_NAME("pyproject.toml") ACT_NAME("tox.ini") ACT_NAME("pytest.ini") ACT_NAME("noxfile.py") ACT_NAME("tasks.py") ACT_NAME("manage.py")
ACT_NAME("fabfile.py") ACT_NAME("dodo.py") ACT_NAME("SConstruct") ACT_NAME("wscript") ACT_NAME("Pipfile") ACT_NAME("requirements.txt")
ACT_NAME("pyvenv.cfg") ACT_NAME(".python-version") ACT_GLOB("*.pth")

/* JavaScript */
ACT_NAME("package.json") ACT_NAME("package-lock.json") ACT_NAME("npm-shrinkwrap.json") ACT_NAME("yarn.lock") ACT_NAME("pnpm-lock.yaml")
ACT_NAME("pnpm-workspace.yaml") ACT_NAME(".pnpmfile.cjs") ACT_NAME(".yarn") ACT_NAME("bunfig.toml") ACT_NAME("deno.json") ACT_NAME("deno.jsonc")
ACT_NAME("gulpfile.js") ACT_NAME("Gruntfile.js") ACT_NAME(".nvmrc") ACT_NAME(".node-version")
ACT_GLOB("*.config.js") ACT_GLOB("*.config.cjs") ACT_GLOB("*.config.mjs") ACT_GLOB("*.config.ts") ACT_GLOB("*.config.cts") ACT_GLOB("*.config.mts")

/* other languages and build tools */
ACT_NAME("Makefile") ACT_NAME("GNUmakefile") ACT_NAME("BSDmakefile") ACT_NAME("justfile") ACT_NAME(".justfile") ACT_NAME("Taskfile.yml")
ACT_NAME("Taskfile.yaml") ACT_NAME("CMakeLists.txt") ACT_NAME("CMakePresets.json") ACT_NAME("CMakeUserPresets.json") ACT_NAME("meson.build")
ACT_NAME("Rakefile") ACT_NAME("Gemfile") ACT_NAME("Guardfile") ACT_NAME("Cargo.toml") ACT_NAME("build.rs") ACT_NAME(".cargo")
ACT_NAME("rust-toolchain") ACT_NAME("rust-toolchain.toml") ACT_NAME("go.mod") ACT_NAME("go.work") ACT_NAME("pom.xml") ACT_NAME(".mvn")
ACT_NAME("mvnw") ACT_NAME("gradlew") ACT_NAME("gradle.properties") ACT_NAME("build.sbt") ACT_NAME("build.xml") ACT_NAME("composer.json")
ACT_NAME("mix.exs") ACT_NAME("Package.swift") ACT_NAME("Makefile.PL") ACT_NAME("Build.PL") ACT_NAME("WORKSPACE") ACT_NAME("WORKSPACE.bazel")
ACT_NAME("MODULE.bazel") ACT_NAME("BUILD.bazel") ACT_NAME("BUCK") ACT_NAME(".buckconfig")
ACT_GLOB("*.gradle") ACT_GLOB("*.gradle.kts") ACT_GLOB("*.mk") ACT_GLOB("*.cmake")

/* environments and machines */
ACT_NAME("mise.toml") ACT_NAME(".mise.toml") ACT_NAME(".tool-versions") ACT_NAME("flake.nix") ACT_NAME("shell.nix") ACT_NAME("default.nix")
ACT_NAME("devbox.json") ACT_NAME("Dockerfile") ACT_NAME("Containerfile") ACT_NAME("docker-compose.yml") ACT_NAME("docker-compose.yaml")
ACT_NAME("compose.yml") ACT_NAME("compose.yaml") ACT_NAME("Vagrantfile") ACT_NAME("Procfile") ACT_NAME("Tiltfile") ACT_NAME("skaffold.yaml")
ACT_GLOB("Dockerfile.*") ACT_GLOB("*.Dockerfile") ACT_GLOB("*.desktop") ACT_GLOB("*.service")

/* agents */
ACT_NAME(".claude") ACT_NAME("CLAUDE.md") ACT_NAME("CLAUDE.local.md") ACT_NAME("AGENTS.md") ACT_NAME("AGENT.md") ACT_NAME("GEMINI.md")
ACT_NAME(".gemini") ACT_NAME(".mcp.json") ACT_NAME("mcp.json") ACT_NAME(".cursor") ACT_NAME(".cursorrules") ACT_NAME(".windsurf")
ACT_NAME(".windsurfrules") ACT_NAME(".clinerules") ACT_NAME(".roo") ACT_NAME(".roomodes") ACT_NAME(".codex") ACT_NAME(".continue")
ACT_NAME(".aider.conf.yml") ACT_NAME("opencode.json") ACT_NAME("opencode.jsonc") ACT_NAME(".opencode") ACT_NAME(".goosehints") ACT_NAME(".kiro")
ACT_NAME(".belljar.yaml")

/* Python's own modules (sys.stdlib_module_names of 3.11, without those that begin with _) */
ACT_MODULE("abc") ACT_MODULE("aifc") ACT_MODULE("antigravity") ACT_MODULE("argparse") ACT_MODULE("array") ACT_MODULE("ast")
ACT_MODULE("asynchat") ACT_MODULE("asyncio") ACT_MODULE("asyncore") ACT_MODULE("atexit") ACT_MODULE("audioop") ACT_MODULE("base64")
ACT_MODULE("bdb") ACT_MODULE("binascii") ACT_MODULE("bisect") ACT_MODULE("builtins") ACT_MODULE("bz2") ACT_MODULE("cProfile")
ACT_MODULE("calendar") ACT_MODULE("cgi") ACT_MODULE("cgitb") ACT_MODULE("chunk") ACT_MODULE("cmath") ACT_MODULE("cmd") ACT_MODULE("code")
ACT_MODULE("codecs") ACT_MODULE("codeop") ACT_MODULE("collections") ACT_MODULE("colorsys") ACT_MODULE("compileall")
ACT_MODULE("concurrent") ACT_MODULE("configparser") ACT_MODULE("contextlib") ACT_MODULE("contextvars") ACT_MODULE("copy")
ACT_MODULE("copyreg") ACT_MODULE("crypt") ACT_MODULE("csv") ACT_MODULE("ctypes") ACT_MODULE("curses") ACT_MODULE("dataclasses")
ACT_MODULE("datetime") ACT_MODULE("dbm") ACT_MODULE("decimal") ACT_MODULE("difflib") ACT_MODULE("dis") ACT_MODULE("distutils")
ACT_MODULE("doctest") ACT_MODULE("email") ACT_MODULE("encodings") ACT_MODULE("ensurepip") ACT_MODULE("enum") ACT_MODULE("errno")
ACT_MODULE("faulthandler") ACT_MODULE("fcntl") ACT_MODULE("filecmp") ACT_MODULE("fileinput") ACT_MODULE("fnmatch") ACT_MODULE("fractions")
ACT_MODULE("ftplib") ACT_MODULE("functools") ACT_MODULE("gc") ACT_MODULE("genericpath") ACT_MODULE("getopt") ACT_MODULE("getpass")
ACT_MODULE("gettext") ACT_MODULE("glob") ACT_MODULE("graphlib") ACT_MODULE("grp") ACT_MODULE("gzip") ACT_MODULE("hashlib")
ACT_MODULE("heapq") ACT_MODULE("hmac") ACT_MODULE("html") ACT_MODULE("http") ACT_MODULE("idlelib") ACT_MODULE("imaplib")
ACT_MODULE("imghdr") ACT_MODULE("imp") ACT_MODULE("importlib") ACT_MODULE("inspect") ACT_MODULE("io") ACT_MODULE("ipaddress")
ACT_MODULE("itertools") ACT_MODULE("json") ACT_MODULE("keyword") ACT_MODULE("lib2to3") ACT_MODULE("linecache") ACT_MODULE("locale")
ACT_MODULE("logging") ACT_MODULE("lzma") ACT_MODULE("mailbox") ACT_MODULE("mailcap") ACT_MODULE("marshal") ACT_MODULE("math")
ACT_MODULE("mimetypes") ACT_MODULE("mmap") ACT_MODULE("modulefinder") ACT_MODULE("msilib") ACT_MODULE("msvcrt")
ACT_MODULE("multiprocessing") ACT_MODULE("netrc") ACT_MODULE("nis") ACT_MODULE("nntplib") ACT_MODULE("nt") ACT_MODULE("ntpath")
ACT_MODULE("nturl2path") ACT_MODULE("numbers") ACT_MODULE("opcode") ACT_MODULE("operator") ACT_MODULE("optparse") ACT_MODULE("os")
ACT_MODULE("ossaudiodev") ACT_MODULE("pathlib") ACT_MODULE("pdb") ACT_MODULE("pickle") ACT_MODULE("pickletools") ACT_MODULE("pipes")
ACT_MODULE("pkgutil") ACT_MODULE("platform") ACT_MODULE("plistlib") ACT_MODULE("poplib") ACT_MODULE("posix") ACT_MODULE("posixpath")
ACT_MODULE("pprint") ACT_MODULE("profile") ACT_MODULE("pstats") ACT_MODULE("pty") ACT_MODULE("pwd") ACT_MODULE("py_compile")
ACT_MODULE("pyclbr") ACT_MODULE("pydoc") ACT_MODULE("pydoc_data") ACT_MODULE("pyexpat") ACT_MODULE("queue") ACT_MODULE("quopri")
ACT_MODULE("random") ACT_MODULE("re") ACT_MODULE("readline") ACT_MODULE("reprlib") ACT_MODULE("resource") ACT_MODULE("rlcompleter")
ACT_MODULE("runpy") ACT_MODULE("sched") ACT_MODULE("secrets") ACT_MODULE("select") ACT_MODULE("selectors") ACT_MODULE("shelve")
ACT_MODULE("shlex") ACT_MODULE("shutil") ACT_MODULE("signal") ACT_MODULE("site") ACT_MODULE("smtpd") ACT_MODULE("smtplib")
ACT_MODULE("sndhdr") ACT_MODULE("socket") ACT_MODULE("socketserver") ACT_MODULE("spwd") ACT_MODULE("sqlite3") ACT_MODULE("sre_compile")
ACT_MODULE("sre_constants") ACT_MODULE("sre_parse") ACT_MODULE("ssl") ACT_MODULE("stat") ACT_MODULE("statistics") ACT_MODULE("string")
ACT_MODULE("stringprep") ACT_MODULE("struct") ACT_MODULE("subprocess") ACT_MODULE("sunau") ACT_MODULE("symtable") ACT_MODULE("sys")
ACT_MODULE("sysconfig") ACT_MODULE("syslog") ACT_MODULE("tabnanny") ACT_MODULE("tarfile") ACT_MODULE("telnetlib") ACT_MODULE("tempfile")
ACT_MODULE("termios") ACT_MODULE("textwrap") ACT_MODULE("this") ACT_MODULE("threading") ACT_MODULE("time") ACT_MODULE("timeit")
ACT_MODULE("tkinter") ACT_MODULE("token") ACT_MODULE("tokenize") ACT_MODULE("tomllib") ACT_MODULE("trace") ACT_MODULE("traceback")
ACT_MODULE("tracemalloc") ACT_MODULE("tty") ACT_MODULE("turtle") ACT_MODULE("turtledemo") ACT_MODULE("types") ACT_MODULE("typing")
ACT_MODULE("unicodedata") ACT_MODULE("unittest") ACT_MODULE("urllib") ACT_MODULE("uu") ACT_MODULE("uuid") ACT_MODULE("venv")
ACT_MODULE("warnings") ACT_MODULE("wave") ACT_MODULE("weakref") ACT_MODULE("webbrowser") ACT_MODULE("winreg") ACT_MODULE("winsound")
ACT_MODULE("wsgiref") ACT_MODULE("xdrlib") ACT_MODULE("xml") ACT_MODULE("xmlrpc") ACT_MODULE("zipapp") ACT_MODULE("zipfile")
ACT_MODULE("zipimport") ACT_MODULE("zlib") ACT_MODULE("zoneinfo")

/* clang-format on */
