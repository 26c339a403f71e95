/**
 * Expressions and their values, for tests: the evaluator must find these, and TLC too.
 *
 * Each is evaluated in a module that has `definitions`, with the replacement that `config` makes.
 */

export const definitions = `
Double(x) == 2 * x
RECURSIVE Sum(_)
Sum(s) == IF s = <<>> THEN 0 ELSE Head(s) + Sum(Tail(s))
Kept(f) == f + 1
Lost(f) == f - 1
Point == [x |-> 1, y |-> <<2, 3>>]
Table == [a |-> [b |-> <<1, 2>>], c |-> {1}]
IsOdd(x) == \\E half \\in 0..x : x = 2 * half + 1
Twice(Value) == LET twice == Double(Value) IN twice + twice
`;

export const expressions: readonly (readonly [expression: string, value: string])[] = [
  // Numbers, and how strongly operators bind.
  ['2 + 3 * 4', '14'],
  ['2 - 3 - 4', '-5'],
  ['-2 + 5', '3'],
  ['-(2 - 5)', '3'],
  ['7 % 3 * 2', '1'],
  ['-7 % 3', '2'],
  ['(0 - 7) \\div 2', '-4'],
  ['7 \\div 2 - 1', '2'],
  ['2147483646 + 1', '2147483647'],
  ['1 + 1 = 2 /\\ 2 # 3', 'TRUE'],
  ['~TRUE \\/ TRUE', 'TRUE'],
  ['~(TRUE \\/ TRUE)', 'FALSE'],
  ['FALSE => (FALSE => FALSE)', 'TRUE'],
  ['TRUE => 1 = 2', 'FALSE'],
  ['(1 = 2) <=> (2 = 3)', 'TRUE'],
  ['1..3 = {3, 2, 1}', 'TRUE'],
  ['3..1', '{}'],
  ['1 \\in 0..2 \\union 5..6', 'TRUE'],
  ['({1} \\cup {2}) \\ {2}', '{1}'],
  ['IF 1 < 2 THEN "yes" ELSE "no"', '"yes"'],
  ['CASE 1 = 2 -> "a" [] 2 = 2 -> "b" [] OTHER -> "c"', '"b"'],
  ['CASE 1 = 2 -> "a" [] OTHER -> "c"', '"c"'],
  // Lists of conjuncts and disjuncts, whose columns count.
  ['(\n  \\/ /\\ FALSE\n     /\\ TRUE\n  \\/ TRUE)', 'TRUE'],
  ['(\n  /\\ \\/ FALSE\n     \\/ TRUE\n  /\\ FALSE)', 'FALSE'],
  ['(\n  /\\ TRUE\n  /\\ 1 = 1 => FALSE\n  /\\ TRUE)', 'FALSE'],
  ['(\n  /\\ \\A x \\in {1, 2} : x > 0\n  /\\ TRUE)', 'TRUE'],
  ['(\n  \\/ \\E x \\in {1, 2} : x > 5 /\\ TRUE\n  \\/ TRUE)', 'TRUE'],
  ['(\n  /\\ IF TRUE\n     THEN /\\ TRUE\n          /\\ FALSE\n     ELSE TRUE\n  /\\ TRUE)', 'FALSE'],
  // Sets.
  ['{1, 2, 2, 1}', '{1, 2}'],
  ['{<<1>>, <<1>>}', '{<<1>>}'],
  ['Cardinality({{1, 2}, {2, 1}, {}})', '2'],
  ['{x \\in 1..5 : x > 3}', '{4, 5}'],
  ['{2 * x : x \\in 1..3}', '{2, 4, 6}'],
  ['{x + y : x \\in {0, 10}, y \\in {1, 2}}', '{1, 2, 11, 12}'],
  ['{<<i, j>> \\in (1..2) \\X (1..2) : i < j}', '{<<1, 2>>}'],
  ['UNION {{1}, {2, 3}, {}}', '{1, 2, 3}'],
  ['UNION {{1}, {2}} \\cup {5}', '{1, 2, 5}'],
  ['{1, 2, 3} \\ {2}', '{1, 3}'],
  ['"a" \\in STRING', 'TRUE'],
  ['"" \\notin STRING', 'FALSE'],
  ['{1, 2, 3} \\intersect {2, 3, 4}', '{2, 3}'],
  ['{1} \\subseteq {1, 2}', 'TRUE'],
  ['{1, 4} \\subseteq {1, 2}', 'FALSE'],
  ['SUBSET {1, 2} = {{}, {1}, {2}, {1, 2}}', 'TRUE'],
  ['{1, 2} \\in SUBSET (0..1000)', 'TRUE'],
  ['3 \\notin {1, 2}', 'TRUE'],
  // CHOOSE takes the first in TLC's order.
  ['CHOOSE x \\in {3, 1, 2} : TRUE', '1'],
  ['CHOOSE x \\in {3, 1, 2} : x > 1', '2'],
  ['CHOOSE x \\in {-y : y \\in {4, 9, 7}} : TRUE', '-9'],
  ['CHOOSE x \\in {<<2, 1>>, <<1, 9>>, <<1, 3>>} : TRUE', '<<1, 3>>'],
  ['CHOOSE x \\in {<<1, 2>>, <<3>>} : TRUE', '<<3>>'],
  ['CHOOSE x \\in {[i \\in 0..1 |-> i], <<9>>} : TRUE', '<<9>>'],
  ['CHOOSE x \\in {[a |-> 2, b |-> 1], [a |-> 1, b |-> 7]} : TRUE', '[a |-> 1, b |-> 7]'],
  ['CHOOSE x \\in {{1, 2}, {3}} : TRUE', '{3}'],
  ['CHOOSE x \\in {{1, 5}, {1, 2}} : TRUE', '{1, 2}'],
  ['CHOOSE x \\in {TRUE, FALSE} : TRUE', 'FALSE'],
  ['CHOOSE x \\in {[b |-> 1, a |-> 9], [b |-> 2, a |-> 3]} : TRUE', '[a |-> 3, b |-> 2]'],
  // Functions, records, sequences.
  ['[x \\in 1..3 |-> 2 * x]', '<<2, 4, 6>>'],
  ['[x \\in 1..3 |-> 2 * x][2]', '4'],
  ['[x \\in 2..3 |-> x] = (2 :> 2 @@ 3 :> 3)', 'TRUE'],
  ['[x \\in {"a", "b"} |-> x] = [a |-> "a", b |-> "b"]', 'TRUE'],
  ['[x \\in {} |-> x] = <<>>', 'TRUE'],
  ['[x \\in {1, 2} |-> {x}]', '<<{1}, {2}>>'],
  ['[x \\in {5, 7} |-> x * x][7]', '49'],
  ['DOMAIN [x \\in {5, 7} |-> x]', '{5, 7}'],
  ['DOMAIN [a |-> 1, b |-> 2]', '{"a", "b"}'],
  ['DOMAIN <<7, 8>> = {2, 1}', 'TRUE'],
  ['(1 :> "one" @@ 1 :> "two" @@ 2 :> "three")', '<<"one", "three">>'],
  ['[b |-> 1, a |-> 2] = [a |-> 2, b |-> 1]', 'TRUE'],
  ['[a |-> 1] = [b |-> 1]', 'FALSE'],
  ['Point.y[2]', '3'],
  ['"x" \\in DOMAIN Point /\\ "z" \\notin DOMAIN Point', 'TRUE'],
  ['[Point EXCEPT !.x = @ + 41]', '[x |-> 42, y |-> <<2, 3>>]'],
  ['[Point EXCEPT !.y[1] = 9, !.x = 0]', '[x |-> 0, y |-> <<9, 3>>]'],
  ['[Table EXCEPT !.a.b[2] = @ * 10, !.a.b[1] = @ - 1]', '[a |-> [b |-> <<0, 20>>], c |-> {1}]'],
  ['[[i \\in 1..2 |-> i] EXCEPT ![1] = @ + 1, ![1] = @ + 1]', '<<3, 2>>'],
  ['[(3 :> 1 @@ 5 :> 2) EXCEPT ![5] = 9][5]', '9'],
  ['Len(<<>>)', '0'],
  ['<<1, 2>> \\o <<3>>', '<<1, 2, 3>>'],
  ['Append(<<1>>, {2})', '<<1, {2}>>'],
  ['Tail(<<1, 2, 3>>)', '<<2, 3>>'],
  ['SubSeq(<<1, 2, 3>>, 2, 3)', '<<2, 3>>'],
  ['SubSeq(<<1, 2, 3>>, 3, 2)', '<<>>'],
  ['SelectSeq(<<1, 2, 3, 4, 5>>, IsOdd)', '<<1, 3, 5>>'],
  // Names.
  ['Sum(<<1, 2, 3, 4>>)', '10'],
  ['Twice(3)', '12'],
  ['Kept(5)', '4'],
  ['LET a == 1 b == a + 1 IN a + b', '3'],
  ['LET F(x, y) == x - y IN F(5, 3) + F(1, 0)', '3'],
  ['{LET d == x + 1 IN d * d : x \\in 1..3}', '{4, 9, 16}'],
  ['LET k == 3 IN [x \\in 1..2 |-> LET F(y) == x * y + k IN F(10)]', '<<13, 23>>'],
  ['\\A x \\in {1, 2}, y \\in {3, 4} : x < y', 'TRUE'],
  ['\\A x, y \\in {1, 2} : x <= y', 'FALSE'],
  ['\\E x \\in {} : TRUE', 'FALSE'],
  ['\\A x \\in {} : FALSE', 'TRUE'],
];

/** Neither can be evaluated. */
export const undefinedExpressions: readonly string[] = [
  '1 = "a"',
  '"a" \\in {STRING}',
  '{1} = 1',
  '<<1, 2>>[3]',
  'Head(<<>>)',
  'SubSeq(<<1>>, 1, 2)',
  'CHOOSE x \\in {1} : x = 2',
  'CASE 1 = 2 -> 3',
  'IF 1 THEN 2 ELSE 3',
  'Point.z',
  'Cardinality(<<1>>)',
  '1 \\div 0',
  '1 % 0',
  '1 % (0 - 3)',
  '2147483647 + 1',
  '0 - 2147483647 - 2',
  '46341 * 46341',
];

/** Neither can be read. */
export const unreadableExpressions: readonly string[] = [
  'FALSE => FALSE => FALSE',
  'TRUE /\\ TRUE \\/ FALSE',
  '1 = 1 = 1',
  '1..2..3',
  '1 + 2 % 3',
  '1 % 2 - 3',
  '1 % 2 % 3',
  '4 \\div 2 \\div 2',
  '4 \\div 2 * 2',
  '{1} \\union {2} \\ {2}',
  '{1} \\union {2} \\intersect {2}',
  '{1} \\ {2} \\ {3}',
  'Nowhere',
  'Double(1, 2)',
  '[x \\in {1} |-> x',
  '{1, 2',
  'IF TRUE THEN 1',
];

export const config = `SPECIFICATION Spec
CONSTANTS
  Kept <- Lost
INVARIANT Printed
CHECK_DEADLOCK FALSE
`;

/** Prints each value with its number, from 1. */
export function expressionModule(all: readonly string[]): string {
  return `---- MODULE Expressions ----
EXTENDS Integers, Sequences, FiniteSets, TLC
VARIABLE n
${definitions}
${all.map((expression, index) => `Value${index + 1} == ${expression.replaceAll('\n', '\n    ')}`).join('\n')}
All == /\\ ${all.map((_, index) => `PrintT(<<"value", ${index + 1}, Value${index + 1}>>)`).join('\n       /\\ ')}
Printed == All
Spec == n = 0 /\\ [][n' = n]_n
====
`;
}
