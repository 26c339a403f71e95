/** An invariant that does not hold: its words, its text, and the part of it that is false, with what its names stand for there. */
import type { FalseClaim } from '../../spec/opened-model.ts';
import type { ModelText } from '../../spec/walk.ts';
import { TextLines } from './text-lines.tsx';

interface BrokenProps {
  readonly name: string;
  readonly text: ModelText;
  /** Null: which part it is cannot be told. */
  readonly claim: FalseClaim | null;
}

export function Broken({ name, text, claim }: BrokenProps) {
  const definition = text.definitions.get(name);
  if (definition === undefined) return null;
  const isInside =
    claim?.place.module === definition.module &&
    claim.place.first >= definition.first &&
    claim.place.first <= definition.last;
  return (
    <div className="spec-broken" data-testid={`broken-${name}`}>
      {definition.comment === '' ? null : <p className="quiet">{definition.comment}</p>}
      <TextLines
        text={text.texts.get(definition.module)!}
        only={{ first: definition.first, last: definition.last }}
        lit={isInside ? claim.place : null}
      />
      {claim === null || isInside ? null : (
        <TextLines text={text.texts.get(claim.place.module) ?? ''} only={claim.place} lit={claim.place} />
      )}
      {claim === null ? null : (
        <p className="spec-claim" data-testid="false-claim">
          False{claim.bound.length === 0 ? '' : ' where'}{' '}
          {claim.bound.map((one) => (
            <span key={one} className="mono badge">
              {one}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
