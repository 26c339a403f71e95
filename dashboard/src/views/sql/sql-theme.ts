/** How the editor looks: the page's own tokens, so that it is light and dark with the page. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const theme = EditorView.theme({
  '&': { fontSize: 'var(--size-2)', backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  // As much as leaves the panel room for what goes under it, and for a result.
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '18px', minHeight: '112px', maxHeight: '148px' },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px' },
  '.cm-matchingBracket': { backgroundColor: 'var(--surface-3) !important', outline: 'none' },
  '.cm-tooltip': {
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius-small)',
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-float)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '224px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', lineHeight: '18px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft) !important',
    color: 'var(--text) !important',
  },
  '.cm-completionDetail': { color: 'var(--text-2)', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-sql-wrong': {
    textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '3px',
    backgroundColor: 'var(--bad-soft)',
  },
  '.cm-sql-error': {
    margin: '2px 12px 4px',
    padding: '4px 8px',
    borderLeft: '3px solid var(--bad)',
    borderRadius: '0 4px 4px 0',
    backgroundColor: 'var(--bad-soft)',
    fontFamily: 'var(--sans)',
    whiteSpace: 'pre-wrap',
  },
  '.cm-sql-error b': { fontFamily: 'var(--mono)', color: 'var(--bad)', marginRight: '8px' },
});

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--chosen)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--applied)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--chosen)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--text-3)', fontStyle: 'italic' },
]);

export const sqlTheme = [theme, syntaxHighlighting(highlight)];
