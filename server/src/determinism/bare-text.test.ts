import { expect, it } from 'vitest';
import { withBlanksForComments } from './bare-text.ts';

it.each([
  ['SELECT 1', 'SELECT 1'],
  ['SELECT /* a */1', 'SELECT        1'],
  ['/**//**/x', '        x'],
  ['/* a /* b */ c */ x', '                  x'],
  ['SELECT 1 -- one\n, 2', 'SELECT 1       \n, 2'],
  ["SELECT 'a' -- c\n 'b'", "SELECT 'a'     \n 'b'"],
  ["SELECT 'a' /*\n*/ 'b'", "SELECT 'a'       'b'"],
  ["SELECT '--', '/*', \"/*\", $$ -- $$, E'\\'--'", "SELECT '--', '/*', \"/*\", $$ -- $$, E'\\'--'"],
  ['SELECT 1 //* 2 */ 3', 'SELECT 1 /        3'],
  ['SELECT 1 -', 'SELECT 1 -'],
  ['SELECT 1 -- open', 'SELECT 1        '],
  ['SELECT /* open /* x', 'SELECT /*          '],
])('blanks stand for the comments of %j', (text, bare) => {
  expect(withBlanksForComments(text)).toBe(bare);
});
