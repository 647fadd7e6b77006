/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to say to which error. The first row that fits is taken, so the special ones stand before the general ones.
 *
 *   language   python, node, bash, compiler; NULL: any
 *   when       types of exceptions (also the builtin bases of one) or reasons, by "|"
 *   pattern    of the message, a signal's name or an exit status: "*" anything, "{}" anything that is kept; NULL: any
 *   pool       where {near} looks for names that are near to the last piece kept
 *   say        {1} {2} {3} pieces kept, {near}, {import}, {names}, {line}, {code}, {type}, {function}; a part in [ ] is left out when a piece in it
 *              is missing, and a row whose piece outside of [ ] is missing does not fit
 */
#ifndef BELLJAR_GRADE_ADVICE_TABLE_H
#define BELLJAR_GRADE_ADVICE_TABLE_H

enum advice_pool {
	POOL_NONE,
	POOL_NAMES,	/* names near to where it happened, and those in the source */
	POOL_MODULES,	/* Python's library */
	POOL_JS,	/* the source and what JavaScript has itself */
	POOL_COMMANDS,	/* the source and usual commands */
	POOL_FUNCTIONS, /* functions that exist */
};

struct advice_row {
	const char *language, *when, *pattern;
	enum advice_pool pool;
	const char *say;
};

static const struct advice_row advice_rows[] = {
	/* ---- Python: names, attributes, imports ---- */
	{ NULL, "unbound_global", "*local variable '{}'*", POOL_NONE,
	  "'{1}' is assigned in the function, so it is a local name there, and the '{1}' of the module is not used: pass it as a parameter, give it a first value in the function, or declare 'global {1}'" },
	{ NULL, "unbound_update", "*local variable '{}'*", POOL_NONE, "'{1}' is updated before it has a first value: write '{1} = ...' in the function before line {line}" },
	{ NULL, "unbound_path", "*local variable '{}'*", POOL_NONE,
	  "'{1}' was not set on the way to line {line}: it is set only in a branch or loop that was not run for this input; give it a value before that" },
	{ "python", "UnboundLocalError", "*local variable '{}'*", POOL_NONE,
	  "'{1}' is assigned somewhere in the function, so it is local, and it has no value yet here: set it on every path before, or declare it global or nonlocal" },
	{ "python", "NameError", "name '{}' is not defined*", POOL_NONE, "'{1}' is used and not imported: add '{import}'" },
	{ "python", "NameError", "name '{}' is not defined*", POOL_NAMES, "'{1}' is not defined here[ (did you mean '{near}'?)]: define it before it is used" },
	{ "python", "NameError", "cannot access free variable '{}'*", POOL_NONE, "'{1}' of the enclosing function has no value yet: set it before the inner function is called" },
	{ "python", "NameError", NULL, POOL_NONE, "a name is used before it has a value: define or import it, and mind the spelling" },
	{ "python", "AttributeError", "'NoneType' object has no attribute '{}'*", POOL_NONE,
	  "what stands before '.{1}' is None: something returned nothing (list.sort() and append() do, as does a function without return, or re.match without a match)" },
	{ "python", "AttributeError", "module '{}' has no attribute '{}'*", POOL_NAMES,
	  "module '{1}' has no '{2}'[ (did you mean '{near}'?)]; mind the spelling, Python's version, and files of your own that hide the module" },
	{ "python", "AttributeError", "type object '{}' has no attribute '{}'*", POOL_NAMES, "class {1} has no '{2}'[ (did you mean '{near}'?)]" },
	{ "python", "AttributeError", "'{}' object has no attribute '{}'*", POOL_NAMES,
	  "a value of type {1} has no '{2}'[ (did you mean '{near}'?)]; check what type stands before the dot" },
	{ "python", "AttributeError", NULL, POOL_NONE, "the value before the dot has no such attribute: check its type and the spelling" },
	{ "python", "ModuleNotFoundError", "No module named '{}'*", POOL_MODULES,
	  "there is no module '{1}' in the jar[ (did you mean '{near}'?)]: use the standard library or write it yourself: nothing can be installed from inside" },
	{ "python", "ImportError", "cannot import name '{}' from '{}'*", POOL_NAMES,
	  "module '{2}' has no '{1}': mind the spelling, Python's version, and files of your own with the name of a module" },
	{ "python", "ImportError", NULL, POOL_NONE, "the import fails: use what is in the standard library" },

	/* ---- Python: syntax ---- */
	{ "python", "TabError", NULL, POOL_NONE, "tabs and spaces are mixed: indent with spaces only" },
	{ "python", "IndentationError", "expected an indented block*", POOL_NONE, "the block has no body: indent the lines that belong to it, or write 'pass'" },
	{ "python", "IndentationError", "unexpected indent*", POOL_NONE, "the line is indented too far: bring it to the column of the line before; code pasted from elsewhere may need dedenting" },
	{ "python", "IndentationError", NULL, POOL_NONE, "the indentation does not match any block around it: use four spaces for each level" },
	{ "python", "SyntaxError", "'{}' was never closed*", POOL_NONE, "the '{1}' that opens there is not closed: the code may be cut off, or a bracket is missing" },
	{ "python", "SyntaxError", "unmatched '{}'*", POOL_NONE, "there is a '{1}' too many, or its opening bracket is missing" },
	{ "python", "SyntaxError", "unterminated*", POOL_NONE, "a string is not closed: end its quotes on the same line, or use triple quotes" },
	{ "python", "SyntaxError", "unexpected EOF*", POOL_NONE, "the code ends too early: it may be cut off" },
	{ "python", "SyntaxError", "expected ':'*", POOL_NONE, "a ':' is missing at the end of the line that opens the block" },
	{ "python", "SyntaxError", "invalid character '{}'*", POOL_NONE, "'{1}' is not a character of Python: use plain ASCII quotes, dashes and signs" },
	{ "python", "SyntaxError", "Missing parentheses in call*", POOL_NONE, "this is Python 2: write print(...) with parentheses" },
	{ "python", "SyntaxError", "'{}' outside *", POOL_NONE, "'{1}' stands outside of where it may: mind the indentation of the lines around it" },
	{ "python", "SyntaxError", "*forget a comma*", POOL_NONE, "a comma, an operator or a quote is missing there" },
	{ "python", "SyntaxError", "cannot assign to*", POOL_NONE, "the left side of '=' cannot be assigned to: '==' compares" },
	{ "python", "SyntaxError|syntax", NULL, POOL_NONE,
	  "the code is not valid Python[ at line {line}]: send code only, without Markdown fences or prose, and check brackets, colons and quotes there and on the line before" },

	/* ---- Python: types ---- */
	{ "python", "TypeError", "{}() missing {} required *: {}", POOL_NONE, "{1}() is called without {3}: pass it, or give it a default" },
	{ "python", "TypeError", "{}() takes {} but {} given*", POOL_NONE, "{1}() takes {2}, but {3} given: make the signature match the call (a method needs self)" },
	{ "python", "TypeError", "{}() got an unexpected keyword argument '{}'*", POOL_NAMES, "{1}() has no parameter '{2}'[ (did you mean '{near}'?)]" },
	{ "python", "TypeError", "unsupported operand type(s) for {}: 'NoneType' and *", POOL_NONE, "the left side of {1} is None: a variable was never set, or a function returns nothing" },
	{ "python", "TypeError", "unsupported operand type(s) for {}: * and 'NoneType'", POOL_NONE, "the right side of {1} is None: a variable was never set, or a function returns nothing" },
	{ "python", "TypeError", "unsupported operand type(s) for {}: '{}' and '{}'", POOL_NONE, "{1} does not work between {2} and {3}: convert one side first (int(), str(), list())" },
	{ "python", "TypeError", "'NoneType' object is not {}*", POOL_NONE, "a value is None where it should be {1}: a function returns nothing, or a variable was never set" },
	{ "python", "TypeError", "'{}' object is not callable*", POOL_NONE, "a value of type {1} is called like a function: a variable may hide a function of the same name, or an operator is missing before '('" },
	{ "python", "TypeError", "'{}' object is not subscriptable*", POOL_NONE, "a value of type {1} is indexed: check what the variable holds there" },
	{ "python", "TypeError", "'{}' object is not iterable*", POOL_NONE, "a value of type {1} is looped over or unpacked: did you mean range() of it, or a list around it?" },
	{ "python", "TypeError", "'{}' object does not support item assignment*", POOL_NONE, "a {1} cannot be changed in place: make a list (or a new {1}) instead" },
	{ "python", "TypeError", "can only concatenate str (not \"{}\") to str*", POOL_NONE, "a string and a {1} are joined by '+': use str() or an f-string" },
	{ "python", "TypeError", "can only concatenate {} (not \"{}\")*", POOL_NONE, "a {1} and a {2} are joined by '+': convert one of them first" },
	{ "python", "TypeError", "unhashable type: '{}'*", POOL_NONE, "a {1} cannot be a key of a dict or an element of a set: use a tuple or frozenset of it" },
	{ "python", "TypeError", "* indices must be integers*", POOL_NONE, "an index is not an int: '/' gives a float (use '//'), and looping over a list gives its elements, not positions" },
	{ "python", "TypeError", "'{}' not supported between instances of '{}' and '{}'", POOL_NONE, "{2} and {3} cannot be ordered by {1}: convert one side, or give a key to sort by" },
	{ "python", "TypeError", "'{}' object cannot be interpreted as an integer*", POOL_NONE, "a {1} stands where an int is needed: use int() or '//'" },
	{ "python", "TypeError", "object of type '{}' has no len()*", POOL_NONE, "len() of a {1}: make a list of it first, or check what the variable holds" },
	{ "python", "TypeError", NULL, POOL_NONE, "a value has the wrong type for what is done with it: check the types of what stands in that line" },

	/* ---- Python: values ---- */
	{ "python", "JSONDecodeError", NULL, POOL_NONE, "the text is not JSON: look at what is parsed (empty input, single quotes, something printed before it)" },
	{ "python", "UnicodeDecodeError|UnicodeEncodeError", NULL, POOL_NONE, "text and bytes do not fit: name the encoding, or errors='replace'" },
	{ "python", "ValueError", "invalid literal for int() with base *: {}", POOL_NONE, "int() got {1}, which is no whole number: strip, split or check the text first (int(float(x)) for '1.0')" },
	{ "python", "ValueError", "could not convert string to float: {}", POOL_NONE, "float() got {1}: strip, split or check the text first" },
	{ "python", "ValueError", "not enough values to unpack*", POOL_NONE, "fewer values came than there are names on the left: check the length (empty lines, a missing field) before unpacking" },
	{ "python", "ValueError", "too many values to unpack*", POOL_NONE, "more values came than there are names on the left: take more names, a *rest, or .items() of a dict" },
	{ "python", "ValueError", "*is not in list", POOL_NONE, "index() or remove() of something that is not there: test with 'in' first" },
	{ "python", "ValueError", "*empty sequence", POOL_NONE, "min() or max() of nothing: handle the empty case, or pass default=" },
	{ "python", "ValueError", "*iterable argument is empty", POOL_NONE, "min() or max() of nothing: handle the empty case, or pass default=" },
	{ "python", "ValueError", "math domain error*", POOL_NONE, "sqrt() of a negative number, log() of zero or less: check the argument first" },
	{ "python", "ValueError", NULL, POOL_NONE, "the type is right but the value is not accepted: check the arguments in that line, above all empty and extreme ones" },
	{ "python", "IndexError", "pop from *", POOL_NONE, "pop() of something empty: test that it has elements first" },
	{ "python", "IndexError", "*assignment index out of range", POOL_NONE, "assigning past the end does not make a list longer: use append(), or make it long enough first" },
	{ "python", "IndexError", NULL, POOL_NONE, "an index is past the end: handle empty input, and check the bounds of the loop (off by one: range(len(x) - 1), i + 1)" },
	{ "python", "KeyError", "{}", POOL_NAMES, "the dict has no key {1}[ (did you mean '{near}'?)]; use .get(), test with 'in', or a defaultdict" },
	{ "python", "KeyError|LookupError", NULL, POOL_NONE, "an index or key is not there: test for it first" },
	{ "python", "ZeroDivisionError", NULL, POOL_NONE, "a division by zero: handle a divisor of 0 (often the length of something empty) before dividing" },
	{ "python", "OverflowError", NULL, POOL_NONE, "the number is too large for a float: calculate with ints ('//', pow(a, b, m))" },
	{ "python", "RecursionError", NULL, POOL_NONE, "the function calls itself without end: check the base case and that each call comes nearer to it; or write it as a loop" },
	{ "python", "AssertionError", "{}", POOL_NONE, "an assertion does not hold: {1}[ (line {line})]" },
	{ "python", "AssertionError", NULL, POOL_NONE, "an assertion does not hold[ (line {line}: {code})]: the value differs from what is required there" },
	{ "python", "StopIteration", NULL, POOL_NONE, "next() of an iterator at its end: pass a default, as in next(it, None)" },
	{ "python", "NotImplementedError", NULL, POOL_NONE, "a part was left out: write the body[ of {function}]" },
	{ "python", "EOFError", NULL, POOL_NONE, "input() found no more input: read only as many lines as there are, or all of sys.stdin" },
	{ "python", "RuntimeError", "*changed size during iteration*", POOL_NONE, "a dict or set is changed while it is looped over: loop over list(...) of it" },
	{ "python", "RuntimeError", "can't start new thread*", POOL_NONE, "the limit of processes and threads is reached: use fewer" },

	/* ---- Python: the world outside ---- */
	{ "python", "FileNotFoundError", "*: '{}'*", POOL_NONE, "there is no file '{1}' in the jar: only files of the request are there, in /workspace" },
	{ "python", "FileNotFoundError", NULL, POOL_NONE, "there is no such file in the jar: only files of the request are there, in /workspace" },
	{ "python", "PermissionError", NULL, POOL_NONE, "the jar does not allow that: write only below /workspace, /tmp and /home/guest" },
	{ "python", "OSError", "*Read-only file system*", POOL_NONE, "that place is read-only: write only below /workspace, /tmp and /home/guest" },
	{ "python", "OSError", "*No space left on device*", POOL_NONE, "the jar's disk is full: write less, or raise --disk" },
	{ "python", "BlockingIOError|OSError", "*Resource temporarily unavailable*", POOL_NONE, "the limit of processes and threads is reached: use fewer, or raise --pids" },
	{ "python", "ConnectionError|gaierror|URLError|ConnectionRefusedError", NULL, POOL_NONE, "there is no network in the jar: bring the data with the request" },
	{ "python", "OSError", "*Network is unreachable*", POOL_NONE, "there is no network in the jar: bring the data with the request" },
	{ "python", "TimeoutError", NULL, POOL_NONE, "the code itself gave up waiting: there is nobody to answer in the jar (no network)" },
	{ "python", "MemoryError", NULL, POOL_NONE, "the memory limit is reached: do not build everything at once (generators, sums as you go), or use a smaller structure" },
	{ "python", "SystemExit", NULL, POOL_NONE, "the code calls exit() itself: return a value instead" },
	{ "python", "KeyboardInterrupt", NULL, POOL_NONE, "the code was interrupted from outside" },

	/* ---- JavaScript ---- */
	{ "node", "ReferenceError", "Cannot access '{}' before initialization*", POOL_NONE, "'{1}' is used above its let or const: move the declaration up" },
	{ "node", "ReferenceError", "require is not defined*", POOL_NONE, "this is an ES module: use import, or name the file .cjs" },
	{ "node", "ReferenceError", "{} is not defined*", POOL_JS, "'{1}' is not defined here[ (did you mean '{near}'?)]; declare or import it; there is no window or document in node" },
	{ "node", "TypeError", "Cannot read properties of {} (reading '{}')*", POOL_NONE, "what stands before '.{2}' is {1}: it was never set, or a function returned nothing; check it, or use '?.'" },
	{ "node", "TypeError", "Cannot set properties of {} (setting '{}')*", POOL_NONE, "what stands before '.{2}' is {1}: create the object first" },
	{ "node", "TypeError", "{} is not a function*", POOL_JS, "'{1}' is not a function[ (did you mean '{near}'?)]: check the spelling and what type the value has" },
	{ "node", "TypeError", "{} is not iterable*", POOL_NONE, "'{1}' cannot be looped over or spread: use Object.entries() of an object, and check for undefined" },
	{ "node", "TypeError", "Assignment to constant variable*", POOL_NONE, "a const is assigned again: declare it with let" },
	{ "node", "TypeError", "Cannot mix BigInt*", POOL_NONE, "BigInt and Number are mixed: convert one side with BigInt() or Number()" },
	{ "node", "TypeError", NULL, POOL_NONE, "a value has the wrong type for what is done with it (undefined, null, a string?): check the types in that line" },
	{ "node", "SyntaxError", "Unexpected end of input*", POOL_NONE, "the code ends too early: a bracket is not closed, or the code is cut off" },
	{ "node", "SyntaxError", "Unexpected end of JSON input*", POOL_NONE, "JSON.parse() got an empty or cut text: look at what is parsed" },
	{ "node", "SyntaxError", "*is not valid JSON*", POOL_NONE, "JSON.parse() got something else: look at what is parsed" },
	{ "node", "SyntaxError", "*JSON at position*", POOL_NONE, "JSON.parse() got something else: look at what is parsed" },
	{ "node", "SyntaxError", "Identifier '{}' has already been declared*", POOL_NONE, "'{1}' is declared twice: leave out the second let or const" },
	{ "node", "SyntaxError", "Cannot use import statement*", POOL_NONE, "import in a CommonJS file: use require(), or name the file .mjs" },
	{ "node", "SyntaxError", "await is only valid*", POOL_NONE, "await outside of an async function: make the function async" },
	{ "node", "SyntaxError|syntax", NULL, POOL_NONE, "the code is not valid JavaScript[ at line {line}]: send code only, without Markdown fences or types, and check brackets and quotes there" },
	{ "node", "RangeError", "Maximum call stack size exceeded*", POOL_NONE, "the function calls itself without end: check the base case and that each call comes nearer to it; or write it as a loop" },
	{ "node", "RangeError", "Invalid array length*", POOL_NONE, "an array of a negative, fractional or huge length: check the number" },
	{ "node", "RangeError", NULL, POOL_NONE, "a number is out of the range that is allowed: check the arguments in that line" },
	{ "node", "AssertionError", NULL, POOL_NONE, "an assertion does not hold[ (line {line})]: the value differs from what is required there" },
	{ "node", "Error", "Cannot find module '{}'*", POOL_NONE, "there is no module '{1}' in the jar: use what node brings itself (node:fs, node:util), or a file of the request as './name'" },
	{ "node", "Error", "Cannot find package '{}'*", POOL_NONE, "there is no package '{1}' in the jar: use what node brings itself, nothing can be installed from inside" },
	{ "node", "Error", "ENOENT*'{}'*", POOL_NONE, "there is no file '{1}' in the jar: only files of the request are there, in /workspace" },
	{ "node", "Error", "*EROFS*", POOL_NONE, "that place is read-only: write only below /workspace, /tmp and /home/guest" },
	{ "node", "Error", "*EAI_AGAIN*", POOL_NONE, "there is no network in the jar: bring the data with the request" },
	{ "node", "throw", NULL, POOL_NONE, "the code throws a value that is no Error: catch it, or throw new Error(...) to see where" },
	{ "node", "Error|EvalError|URIError|AggregateError", NULL, POOL_NONE, "the code throws this itself and nothing catches it: look at the condition before it" },

	/* ---- bash ---- */
	{ "bash", "bash", "{}: command not found*", POOL_COMMANDS, "there is no command '{1}' in the jar[ (did you mean '{near}'?)]; in an assignment there are no spaces around '='" },
	{ "bash", "bash", "{}: unbound variable*", POOL_NAMES, "'{1}' has no value and 'set -u' is on[ (did you mean '{near}'?)]; set it before, or write a default as in ${x:-}" },
	{ "bash", "bash", "unexpected EOF while looking for matching*", POOL_NONE, "a quote or bracket is not closed" },
	{ "bash", "bash", "syntax error: unexpected end of file*", POOL_NONE, "a block is not closed: look for a missing fi, done, esac, '}' or quote" },
	{ "bash", "bash", "syntax error*", POOL_NONE, "the line is not valid bash: check then, do, ';;', quotes and brackets there and before" },
	{ "bash", "bash", "*division by 0*", POOL_NONE, "a division by zero: test the divisor first" },
	{ "bash", "bash", "*integer expression expected*", POOL_NONE, "a number is compared with something that is none: quote the variable, and check that it is not empty" },
	{ "bash", "bash", "*integer expected*", POOL_NONE, "a number is compared with something that is none: quote the variable, and check that it is not empty" },
	{ "bash", "bash", "*unary operator expected*", POOL_NONE, "a variable in the test is empty: quote it, or use double brackets" },
	{ "bash", "bash", "*too many arguments*", POOL_NONE, "a variable in the test has several words: quote it" },
	{ "bash", "bash", "*: No such file or directory*", POOL_NONE, "a file is not there: only files of the request are, in /workspace" },
	{ "bash", "bash", "*: Permission denied*", POOL_NONE, "the file cannot be executed or written: chmod +x it, or start it with 'bash FILE'; write below /workspace or /tmp" },
	{ "bash", "bash", "*Read-only file system*", POOL_NONE, "that place is read-only: write only below /workspace, /tmp and /home/guest" },
	{ "bash", "bash", "*Resource temporarily unavailable*", POOL_NONE, "the limit of processes is reached: start fewer, or raise --pids" },
	{ "bash", "bash", "*No space left on device*", POOL_NONE, "the jar's disk is full: write less, or raise --disk" },
	{ "bash", "bash", "*Could not resolve host*", POOL_NONE, "there is no network in the jar: bring the data with the request" },
	{ "bash", "syntax", NULL, POOL_NONE, "the script is not valid bash[ at line {line}]: check quotes, then, do, fi, done there and before" },

	/* ---- compilers ---- */
	{ "compiler", "compile", "*undeclared*", POOL_NAMES, "a name is used that is not declared: declare it, or include its header" },
	{ "compiler", "compile", "undefined: {}", POOL_NAMES, "'{1}' is not defined[ (did you mean '{near}'?)]; declare or import it" },
	{ "compiler", "compile", "cannot find *", POOL_NONE, "a name is used that does not exist: declare or import it, and mind the spelling" },
	{ "compiler", "compile", "expected *", POOL_NONE, "something is missing there or on the line before: a ';', a bracket or a quote" },
	{ "compiler", "compile", NULL, POOL_NONE, "the code does not compile: put this error right first, others may follow from it" },

	/* ---- what belljar itself says of a run or a case ---- */
	{ NULL, "missing_function", NULL, POOL_FUNCTIONS, "define the function under exactly the name that is asked for[ (did you mean '{near}'?)][; what is defined: {names}]" },
	{ NULL, "wrong_type", NULL, POOL_NONE, "return a value of the type that is asked for, not text or another kind of it" },
	{ NULL, "other_exception", "{} instead of {}", POOL_NONE,
	  "this input must raise {2}, and {1} is raised[ in line {line}]: test for the case before and raise {2} yourself, or catch {1} and raise {2}" },
	{ "node", "changed_args", NULL, POOL_NONE,
	  "the arguments after the call are not what is asked for: do not change what the caller passed (work on a copy: [...x], {...x}, structuredClone(x)), or change it as the task says" },
	{ NULL, "changed_args", NULL, POOL_NONE,
	  "the arguments after the call are not what is asked for: do not change what the caller passed (work on a copy: sorted(x), list(x), dict(x)), or change it as the task says" },
	{ NULL, "exited_at_load", NULL, POOL_NONE, "the code ends the process while it is loaded, before any call: no exit(), quit() or main program at the top level" },
	{ NULL, "coroutine", NULL, POOL_NONE, "a coroutine is in the answer: write await before the call of the async function (in an async def), or asyncio.run() around it" },
	{ NULL, "never_settles", NULL, POOL_NONE,
	  "the promise that is returned never settles, and nothing is left to do that could settle it: call resolve() or reject() on every path, and mind callbacks that are never called" },
	{ NULL, "asked_input", NULL, POOL_NONE, "the function reads input, but its data comes as arguments: use the parameters and leave out input() and sys.stdin" },
	{ "node", "printed_it", NULL, POOL_NONE, "the right answer is printed and nothing is returned: write return instead of console.log()" },
	{ "node", "printed", NULL, POOL_NONE, "it prints something and returns nothing: only the returned value counts, so return the answer instead of printing it" },
	{ NULL, "printed_it", NULL, POOL_NONE, "the right answer is printed and None is returned: write return instead of print()" },
	{ NULL, "printed", NULL, POOL_NONE, "it prints something and returns None: only the returned value counts, so return the answer instead of printing it" },
	{ "node", "returned_nothing", NULL, POOL_NONE, "the function returns nothing for this input: look for a path without return (a branch, the end of a loop, an arrow function with braces)" },
	{ NULL, "returned_nothing", NULL, POOL_NONE,
	  "the function returns None for this input: look for a path without return (a branch, the end of a loop), and for list.sort(), append() or reverse(), which return None" },
	{ "node", "not_text", NULL, POOL_NONE, "the value is right, but a string is expected: convert it with String()" },
	{ "node", "text", NULL, POOL_NONE, "the value is right as text, but no string is expected: convert it with Number(), or do not convert it to a string" },
	{ NULL, "not_text", NULL, POOL_NONE, "the value is right, but a string is expected: convert it with str()" },
	{ NULL, "text", NULL, POOL_NONE, "the value is right as text, but no string is expected: convert it with int() or float(), or do not convert it to a string" },
	{ NULL, "no_exception", "{}", POOL_NONE, "raise {1} for this input instead of returning a value" },
	{ NULL, "no_exception", NULL, POOL_NONE, "raise the exception that is expected for this input instead of returning a value" },
	{ NULL, "exception", NULL, POOL_NONE, "the code raises this itself and nothing catches it: look at the condition before it[ (line {line})]" },
	{ NULL, "wall_time|cpu_time|timeout", NULL, POOL_NONE,
	  "it did not end in time[; it was at line {line}][, '{code}']: look for a loop whose condition never changes, for waiting for input that does not come, or use a faster way" },
	{ NULL, "memory", NULL, POOL_NONE, "it needs more memory than is allowed: do not keep everything at once, look for a list that grows without end" },
	{ NULL, "output", NULL, POOL_NONE, "it prints without end or far too much: remove the print calls of debugging, check the loop" },
	{ NULL, "signal|crashed", "SIGSEGV", POOL_NONE, "it crashed (SIGSEGV): too deep recursion in native code, ctypes, or a wrong pointer or index in C" },
	{ NULL, "signal|crashed", "SIGABRT", POOL_NONE, "it aborted (SIGABRT): an assertion of C or the allocator, or node out of heap" },
	{ NULL, "signal|crashed", "SIGFPE", POOL_NONE, "a division by zero (SIGFPE): test the divisor first" },
	{ NULL, "signal|crashed", "SIGPIPE", POOL_NONE, "it wrote to a pipe that nobody reads any more (SIGPIPE)" },
	{ NULL, "signal|crashed", "SIGKILL", POOL_NONE, "a process in the jar sent SIGKILL to it: no kill calls" },
	{ NULL, "signal|crashed", "SIGXFSZ", POOL_NONE, "a file grew past its limit: write less" },
	{ NULL, "signal|crashed", "{}", POOL_NONE, "it was ended by {1}" },
	{ NULL, "crashed", NULL, POOL_NONE, "the process died during the call: too deep recursion in native code, ctypes, or something that ends the process" },
	{ NULL, "exited", "127", POOL_NONE, "exit status 127: a command was not found; mind the spelling, the jar has only the host's /usr" },
	{ NULL, "exited", "126", POOL_NONE, "exit status 126: a file could not be executed; chmod +x it, or name its interpreter" },
	{ NULL, "exited", "{}", POOL_NONE, "it ended by itself with exit status {1} and said nothing: look for exit calls, or (bash, set -e) the first command that fails" },
	{ NULL, "exited", NULL, POOL_NONE, "the code ended the process inside a call: return a value, no exit(), quit() or os._exit()" },
	{ "node", "unencodable", NULL, POOL_NONE,
	  "return plain data: null, undefined, booleans, numbers, strings, BigInt, arrays, plain objects, Map, Set, Date, typed arrays, objects of your own classes; not functions, symbols, "
	  "errors, objects of node's own classes, or structures that hold themselves" },
	{ NULL, "unencodable", NULL, POOL_NONE,
	  "return plain data: None, bool, int, float, str, bytes, complex, list, tuple, set, frozenset, dict; not objects of own classes, functions, or structures that hold themselves" },
	{ NULL, "tampering", NULL, POOL_NONE, "the code interferes with what grades it: leave the interpreter's internals, other processes and their descriptors alone; only the answer counts" },
	{ NULL, "load_error", NULL, POOL_NONE, "the solution fails while it is loaded, before any case: keep calls and tests out of the top level" },
	{ NULL, "syntax", NULL, POOL_NONE, "the code cannot be parsed[ at line {line}]: send code only, without Markdown fences or prose" },
	{ NULL, "not_run", NULL, POOL_NONE, "not run because of what went wrong before: put that right first" },
	{ NULL, "presentation", NULL, POOL_NONE, "the values are right, the white space is not: mind spaces, empty lines and the last line end" },
	{ NULL, "syscall", NULL, POOL_NONE, "a system call was made that no honest program needs: leave out mounts, namespaces, tracing, kernel interfaces" },
	{ NULL, "policy", NULL, POOL_NONE, "the operator's policy refuses this code; nothing ran: do it without what is named" },
	{ NULL, "busy", NULL, POOL_NONE, "there was no room: nothing is wrong with the code, send it again later" },
	{ NULL, "cancelled", NULL, POOL_NONE, "it was called off from outside: nothing is known about the code" },
	{ NULL, "setup|internal", NULL, POOL_NONE, "belljar failed, not the code: 'belljar doctor' says what is missing on this host" },
	{ NULL, "pids", NULL, POOL_NONE, "it could not start more processes or threads: start fewer, or wait for those that ended" },
	{ NULL, "disk", NULL, POOL_NONE, "its disk was full: write less, remove what is not needed any more" },
};

/* ---- lists of names ---- */

/* Names that code uses without importing them, and how they come in. */
static const struct {
	const char *name, *statement;
} advice_imports[] = {
	{ "List", "from typing import List" }, { "Dict", "from typing import Dict" }, { "Set", "from typing import Set" },
	{ "Tuple", "from typing import Tuple" }, { "Optional", "from typing import Optional" }, { "Any", "from typing import Any" },
	{ "Union", "from typing import Union" }, { "Callable", "from typing import Callable" }, { "Iterable", "from typing import Iterable" },
	{ "Iterator", "from typing import Iterator" }, { "Sequence", "from typing import Sequence" }, { "NamedTuple", "from typing import NamedTuple" },
	{ "defaultdict", "from collections import defaultdict" }, { "deque", "from collections import deque" },
	{ "Counter", "from collections import Counter" }, { "OrderedDict", "from collections import OrderedDict" },
	{ "namedtuple", "from collections import namedtuple" }, { "reduce", "from functools import reduce" },
	{ "lru_cache", "from functools import lru_cache" }, { "cache", "from functools import cache" },
	{ "partial", "from functools import partial" }, { "cmp_to_key", "from functools import cmp_to_key" },
	{ "heappush", "from heapq import heappush" }, { "heappop", "from heapq import heappop" }, { "heapify", "from heapq import heapify" },
	{ "bisect_left", "from bisect import bisect_left" }, { "bisect_right", "from bisect import bisect_right" }, { "insort", "from bisect import insort" },
	{ "permutations", "from itertools import permutations" }, { "combinations", "from itertools import combinations" },
	{ "product", "from itertools import product" }, { "accumulate", "from itertools import accumulate" }, { "groupby", "from itertools import groupby" },
	{ "chain", "from itertools import chain" }, { "zip_longest", "from itertools import zip_longest" },
	{ "sqrt", "from math import sqrt" }, { "gcd", "from math import gcd" }, { "ceil", "from math import ceil" }, { "floor", "from math import floor" },
	{ "log", "from math import log" }, { "inf", "from math import inf" }, { "pi", "from math import pi" }, { "factorial", "from math import factorial" },
	{ "Decimal", "from decimal import Decimal" }, { "Fraction", "from fractions import Fraction" }, { "Path", "from pathlib import Path" },
	{ "dataclass", "from dataclasses import dataclass" }, { "field", "from dataclasses import field" }, { "Enum", "from enum import Enum" },
	{ "ABC", "from abc import ABC" }, { "abstractmethod", "from abc import abstractmethod" }, { "np", "import numpy as np" },
	{ "pd", "import pandas as pd" }, { "timedelta", "from datetime import timedelta" }, { "dt", "import datetime as dt" },
};

static const char *const advice_modules[] = {
	"abc", "argparse", "array", "ast", "asyncio", "base64", "bisect", "calendar", "cmath", "collections", "concurrent", "contextlib", "copy", "csv",
	"dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "gzip", "hashlib", "heapq", "hmac", "html", "inspect", "io",
	"itertools", "json", "keyword", "logging", "math", "multiprocessing", "numbers", "operator", "os", "pathlib", "pickle", "platform", "pprint",
	"queue", "random", "re", "secrets", "shutil", "signal", "socket", "sqlite3", "statistics", "string", "struct", "subprocess", "sys", "tempfile",
	"textwrap", "threading", "time", "timeit", "traceback", "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref",
	"zipfile", "zlib", "numpy", "pandas",
};

static const char *const advice_js[] = {
	"Array", "BigInt", "Boolean", "Buffer", "Date", "Error", "JSON", "Map", "Math", "Number", "Object", "Promise", "RegExp", "Set", "String", "Symbol",
	"URL", "clearTimeout", "console", "exports", "isNaN", "module", "parseFloat", "parseInt", "process", "queueMicrotask", "require", "setInterval",
	"setTimeout", "structuredClone", "undefined",
};

static const char *const advice_commands[] = {
	"awk", "basename", "bash", "bc", "cat", "chmod", "cp", "cut", "date", "diff", "dirname", "echo", "expr", "find", "grep", "gzip", "head", "ls", "mkdir",
	"mktemp", "mv", "node", "paste", "perl", "printf", "python3", "read", "readlink", "rev", "rm", "sed", "seq", "sleep", "sort", "split", "tac", "tail",
	"tar", "tee", "test", "touch", "tr", "uniq", "wc", "xargs",
};

#endif
