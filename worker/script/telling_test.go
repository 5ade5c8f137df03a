package script

import (
	"strings"
	"testing"
)

// TestTelling has what programs of several languages write when they fail, as they write it.
func TestTelling(t *testing.T) {
	t.Parallel()
	const traceback = "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    f()\n    ^^^\n"
	warning := "/usr/lib/python3.11/multiprocessing/resource_tracker.py:216: UserWarning: resource_tracker: There appear to be 6 " +
		"leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '\n"
	for name, c := range map[string]struct{ log, want string }{
		"nothing":               {"", ""},
		"one line":              {"working\nno such data\n", "no such data"},
		"indented line":         {"working\n  no such data\n\n", "no such data"},
		"a warning after it":    {traceback + "KeyError: 'dropout'\n" + warning, "KeyError: 'dropout'"},
		"a warning alone":       {"cannot read data\n" + warning, "cannot read data"},
		"nothing but a warning": {warning, "warnings.warn('resource_tracker: There appear to be %d '"},
		"without message":       {traceback + "AssertionError\n", "AssertionError"},
		"no Error in its name":  {traceback + "torch.cuda.Stopped: now\nAborted!\n", "torch.cuda.Stopped: now"},
		"chained": {traceback + "KeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n" +
			traceback + "ValueError: bad\nsecond line\n", "ValueError: bad"},
		"several lines": {traceback + "RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): \"w\"\n",
			"RuntimeError: Error(s) in loading state_dict for Net: Missing key(s): \"w\""},
		"group": {"  + Exception Group Traceback (most recent call last):\n  |   File \"<string>\", line 1, in <module>\n" +
			"  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | ValueError: a\n" +
			"    +---------------- 2 ----------------\n    | KeyError: 'b'\n    +------------------------------------\n",
			"ExceptionGroup: two (2 sub-exceptions)"},
		"syntax": {"  File \"b.py\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed\n",
			"SyntaxError: '(' was never closed"},
		"ranks": {"[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1, in <module>\n[rank0]:     f()\n" +
			"[rank0]: ValueError: no\nW1129 10:00:00.0 torch/distributed/elastic/agent.py:1] closing signal SIGTERM\n" + traceback +
			"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + strings.Repeat("=", 60) + "\na.py FAILED\n",
			"ValueError: no"},
		"launcher": {traceback + "ZeroDivisionError: division by zero\n" + traceback + "subprocess.CalledProcessError: Command " +
			"'['python3', '-c', '1/0']' returned non-zero exit status 1.\n", "ZeroDivisionError: division by zero"},
		"only the launcher": {traceback + "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.\n",
			"subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1."},
		"went on after it": {traceback + "ValueError: handled\n" + strings.Repeat("epoch\n", 20) + "no space\n", "no space"},
		"arguments":        {"usage: a.py [-h]\na.py: error: unrecognized arguments: --lr=1\n", "a.py: error: unrecognized arguments: --lr=1"},
		"progress": {"\r 10%|█  | 1/10\r 20%|██ | 2/10" + "\n" + traceback + "KeyError: 1\n 30%|██ | 3/10\n",
			"KeyError: 1"},
		"Node.js": {"/t.js:1\nfunction f(){ null.x }\n                   ^\n\nTypeError: Cannot read properties of null (reading 'x')\n" +
			"    at f (/t.js:1:20)\n    at node:internal/main/run_main_module:28:49\n\nNode.js v20.20.2\n",
			"TypeError: Cannot read properties of null (reading 'x')"},
		"Go": {"panic: runtime error: index out of range [5] with length 0\n\ngoroutine 1 [running]:\nmain.main()\n\t/m.go:2 +0x9\n" +
			"exit status 2\n", "panic: runtime error: index out of range [5] with length 0"},
		"Rust": {"\nthread 'main' panicked at m.rs:3:5:\nindex out of bounds: the len is 0 but the index is 5\nnote: run with " +
			"`RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			"thread 'main' panicked at m.rs:3:5: index out of bounds: the len is 0 but the index is 5"},
		"C++": {"terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad news\n", "what():  bad news"},
		"Java": {"Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat A.main(A.java:3)\n",
			"Exception in thread \"main\" java.lang.IllegalStateException: no"},
		"R":          {"Error in f(1) : no such column\nCalls: f\nExecution halted\n", "Error in f(1) : no such column"},
		"long":       {strings.Repeat("y", 1000), strings.Repeat("y", longestTelling) + "…"},
		"not a text": {"a\xffb", "a�b"},
	} {
		if got := telling(c.log); got != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}
