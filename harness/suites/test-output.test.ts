import { describe, expect, test } from 'vitest';
import { parseJunit, parsePgRegress, steady } from './test-output.ts';

describe("pg_regress's lines", () => {
  test('name a file and whether it passed', () => {
    const output = [
      '# using postmaster on 127.0.0.1, port 25058',
      'ok 1         - test_setup                               1024 ms',
      '# parallel group (2 tests):  char boolean',
      'not ok 2     + boolean                                    98 ms',
      'ok 3         + char                                       12 ms',
      '1..3',
      '# 1 of 3 tests failed.',
    ].join('\n');
    expect(parsePgRegress(output)).toEqual([
      { name: 'test_setup', result: 'pass' },
      { name: 'boolean', result: 'fail' },
      { name: 'char', result: 'pass' },
    ]);
  });
});

describe("mocha's report", () => {
  test('gives the reason in the text of the failure', () => {
    const xml =
      '<testsuite><testcase classname="pool" name="ends"><failure>Error: it did &quot;not&quot;\n at x:1</failure></testcase></testsuite>';
    expect(parseJunit(xml)).toEqual([
      { name: 'pool::ends', result: 'fail', evidence: 'Error: it did "not"' },
    ]);
  });
});

describe("pytest's report", () => {
  const xml = `<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase classname="tests.test_a" name="test_ok[&lt;1&gt;]" time="0.1" />
<testcase classname="tests.test_a" name="test_bad" time="0.1"><failure message="assert 1 == 2&#10; at 0x7f00aa11">long
text</failure></testcase>
<testcase classname="tests.test_a" name="test_setup" time="0.1"><error message="failed on setup">x</error></testcase>
<testcase classname="tests.test_a" name="test_not" time="0"><skipped type="pytest.skip" message="old">x</skipped></testcase>
<testcase classname="tests.test_a" name="test_words" time="0"><system-out>a failure of nothing</system-out></testcase>
</testsuite></testsuites>`;

  test('says which passed, failed and were skipped, and why they failed', () => {
    expect(parseJunit(xml)).toEqual([
      { name: 'tests.test_a::test_ok[<1>]', result: 'pass', evidence: '' },
      { name: 'tests.test_a::test_bad', result: 'fail', evidence: 'assert 1 == 2\n at 0x…' },
      { name: 'tests.test_a::test_setup', result: 'fail', evidence: 'failed on setup' },
      { name: 'tests.test_a::test_not', result: 'skip', evidence: '' },
      { name: 'tests.test_a::test_words', result: 'pass', evidence: '' },
    ]);
  });
});

describe('a reason', () => {
  test('is the same when ports, addresses and process ids differ', () => {
    const one = 'connection to server at "127.0.0.1", port 25058 failed: pid 14236 <object at 0x7f12ab34>';
    const other = 'connection to server at "127.0.0.1", port 7432 failed: pid 99871 <object at 0x7faa0099>';
    expect(steady(one)).toBe(steady(other));
  });

  test('differs when what happened does', () => {
    expect(steady('expected 3 rows')).not.toBe(steady('expected 4 rows'));
  });
});
