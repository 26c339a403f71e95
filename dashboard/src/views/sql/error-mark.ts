/** An error in place: what PostgreSQL's position points at is underlined, and the message stands below its line, until the text is changed. */
import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view';
import type { ErrorPlace } from '../../model/error-place.ts';

const setMark = StateEffect.define<ErrorPlace | null>();

class MessageWidget extends WidgetType {
  private readonly error: ErrorPlace;

  constructor(error: ErrorPlace) {
    super();
    this.error = error;
  }

  override eq(other: MessageWidget): boolean {
    return other.error === this.error;
  }

  /** The result below the editor says the same to screen readers. */
  override toDOM(): HTMLElement {
    const box = document.createElement('div');
    box.className = 'cm-sql-error';
    box.dataset['testid'] = 'sql-error-in-place';
    box.setAttribute('aria-hidden', 'true');
    const code = document.createElement('b');
    code.textContent = this.error.code;
    box.append(code, this.error.message);
    return box;
  }
}

export const errorMark = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { docChanged, effects, newDoc }) {
    for (const effect of effects) {
      if (!effect.is(setMark)) continue;
      const error = effect.value;
      if (error === null || error.from > newDoc.length) return Decoration.none;
      const to = Math.min(error.to, newDoc.length);
      const line = newDoc.lineAt(error.from);
      const below = Decoration.widget({ widget: new MessageWidget(error), block: true, side: 1 });
      const wrong = Decoration.mark({ class: 'cm-sql-wrong' });
      return Decoration.set(
        [...(to > error.from ? [wrong.range(error.from, to)] : []), below.range(line.to)],
        true,
      );
    }
    return docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function showError(view: EditorView, error: ErrorPlace | null): void {
  view.dispatch({
    effects: [
      setMark.of(error),
      ...(error === null ? [] : [EditorView.scrollIntoView(Math.min(error.from, view.state.doc.length))]),
    ],
  });
}
