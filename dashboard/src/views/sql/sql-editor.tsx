/**
 * The editor of the console: CodeMirror with PostgreSQL's SQL. Loaded when the console is looked at.
 *
 * Responsible for: text, completion, and an error where it is. What is run, and where, is the console's.
 * Tab indents; after Escape it leaves the editor, as everywhere on the page.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentOnInput } from '@codemirror/language';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';
import { useEffect, useId, useRef } from 'react';
import type { SqlTable } from '../../model/sql-tables.ts';
import { sqlLanguage } from './completion.ts';
import type { ErrorPlace } from '../../model/error-place.ts';
import { errorMark, showError } from './error-mark.ts';
import { sqlTheme } from './sql-theme.ts';

/** What is selected; `from` is where it begins in the text. */
export interface SqlSelection {
  readonly text: string;
  readonly from: number;
}

export interface SqlEditorProps {
  readonly value: string;
  readonly label: string;
  readonly charsMax: number;
  readonly tables: readonly SqlTable[];
  readonly error: ErrorPlace | null;
  readonly onChange: (value: string) => void;
  /** Null: nothing is selected. */
  readonly onSelect: (selection: SqlSelection | null) => void;
  readonly onRun: () => void;
}

const typedOverMin = 500;

/** The browser would delete what is typed over word by word: of a long line that takes it half a minute, in which nothing on the page moves. */
const typeOver = EditorView.domEventHandlers({
  beforeinput({ inputType, data, isComposing }, view) {
    const { from, to } = view.state.selection.main;
    if (inputType !== 'insertText' || data === null || isComposing || to - from < typedOverMin) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

function selectionOf({ selection, doc }: EditorState): SqlSelection | null {
  const { from, to, empty } = selection.main;
  return empty ? null : { text: doc.sliceString(from, to), from };
}

export function SqlEditor(props: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  const language = useRef(new Compartment());
  const attributes = useRef(new Compartment());
  const help = useId();
  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    const { value, tables } = latest.current;
    const run = (editor: EditorView): boolean => {
      closeCompletion(editor);
      latest.current.onRun();
      return true;
    };
    const created = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          Prec.highest(
            keymap.of([
              { key: 'Ctrl-Enter', run },
              { key: 'Meta-Enter', run },
            ]),
          ),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false, maxRenderedOptions: 60 }),
          keymap.of([
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            indentWithTab,
          ]),
          EditorState.tabSize.of(2),
          EditorState.changeFilter.of((change) => change.newDoc.length <= latest.current.charsMax),
          EditorView.lineWrapping,
          typeOver,
          language.current.of(sqlLanguage(tables)),
          attributes.current.of([]),
          errorMark,
          sqlTheme,
          EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
            if (docChanged) latest.current.onChange(state.doc.toString());
            if (docChanged || selectionSet) latest.current.onSelect(selectionOf(state));
          }),
        ],
      }),
    });
    view.current = created;
    return () => {
      view.current = null;
      created.destroy();
    };
  }, []);

  useEffect(() => {
    const shown = view.current!;
    if (shown.state.doc.toString() === props.value) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: props.value } });
  }, [props.value]);
  useEffect(() => {
    view.current!.dispatch({ effects: language.current.reconfigure(sqlLanguage(props.tables)) });
  }, [props.tables]);
  useEffect(() => {
    const content = EditorView.contentAttributes.of({
      'aria-label': props.label,
      'aria-describedby': help,
      'data-testid': 'sql-input',
    });
    view.current!.dispatch({ effects: attributes.current.reconfigure(content) });
  }, [props.label, help]);
  useEffect(() => showError(view.current!, props.error), [props.error]);

  return (
    <>
      <div ref={host} className="sql-code" data-testid="sql-editor" />
      <span id={help} hidden>
        Control+Enter or Command+Enter runs it. Tab indents; Escape, then Tab, leaves the editor.
      </span>
    </>
  );
}
