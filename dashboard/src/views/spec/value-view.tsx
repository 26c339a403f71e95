/** A value, laid out: small tables by replica, records as fields, sets as what is in them; what is another value than before is marked. */
import { useState } from 'react';
import type { Item, Mark, Shape } from '../../spec/value-shape.ts';

/** More elements are shown when somebody asks for them. */
const ITEMS_SHOWN = 8;

export function ValueView({ shape, mark = 'same' }: { readonly shape: Shape; readonly mark?: Mark }) {
  switch (shape.kind) {
    case 'text':
      return (
        <span className={`tla-value-${shape.tone}`} data-mark={mark}>
          {shape.text}
        </span>
      );
    case 'items':
      return <Items shape={shape} mark={mark} />;
    case 'rows':
      return (
        <span
          className="tla-rows"
          data-flat={shape.rows.every(({ shape: part }) => part.kind === 'text')}
          data-mark={mark === 'added' || mark === 'gone' ? mark : 'same'}
        >
          {shape.rows.map(({ name, shape: part, mark: own }) => (
            <span key={name} className="tla-row">
              <span className="tla-name">{name}</span>
              <ValueView shape={part} mark={own} />
            </span>
          ))}
        </span>
      );
    case 'table':
      return (
        <table className="tla-table">
          <thead>
            <tr>
              <td />
              {shape.columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shape.rows.map(({ name, cells }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {cells.map((cell, index) => (
                  <td key={shape.columns[index]}>
                    <ValueView shape={cell.shape} mark={cell.mark} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    default:
      return shape satisfies never;
  }
}

function Items({ shape, mark }: { readonly shape: Shape & { kind: 'items' }; readonly mark: Mark }) {
  const [isOpen, setOpen] = useState(false);
  if (shape.items.length === 0)
    return (
      <span className="quiet" data-mark={mark}>
        {'{}'}
      </span>
    );
  const isFlat = shape.items.every((item) => item.shape.kind === 'text');
  // What came and went is never left out.
  const ordered = [...shape.items].sort((a, b) => weight(a) - weight(b));
  const shown = isOpen
    ? ordered
    : ordered.slice(0, Math.max(ITEMS_SHOWN, ordered.filter((one) => weight(one) === 0).length));
  const left = shape.items.length - shown.length;
  return (
    <span className={isFlat ? 'tla-items tla-items-flat' : 'tla-items'}>
      {shown.map((item) => (
        <span key={item.name} className="tla-item" data-mark={item.mark}>
          <ValueView shape={item.shape} mark={item.shape.kind === 'text' ? item.mark : 'same'} />
        </span>
      ))}
      {left > 0 || isOpen ? (
        <button type="button" className="tla-more" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'fewer' : `${left} more`}
        </button>
      ) : null}
    </span>
  );
}

function weight({ mark }: Item): number {
  return mark === 'same' ? 1 : 0;
}
