/** The bug models, by the specification that they break, and what to look for among them. */
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { Header, ListBox, ListBoxItem, ListBoxSection, Virtualizer, ListLayout } from 'react-aria-components';
import { type ListedCounterexample, titleOf } from '../../spec/counterexample.ts';
import { listLayout, sectionsOf } from '../../spec/listed-models.ts';
import { useShownRow } from './use-shown-row.ts';

interface ModelListProps {
  /** The choice among what the view shows. */
  readonly modes: ReactNode;
  readonly listed: readonly ListedCounterexample[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}

export function ModelList({ modes, listed, chosen, onChoose }: ModelListProps) {
  const [text, setText] = useState('');
  const sections = useMemo(() => sectionsOf(listed, text), [listed, text]);
  const list = useRef<HTMLDivElement>(null);
  useShownRow(list, sections, chosen);
  return (
    <section className="spec-models" aria-label="Bug models">
      {modes}
      <header className="spec-models-head">
        <h2>Counterexamples</h2>
        <span className="quiet num">{listed.length}</span>
        <input
          type="search"
          placeholder="Find a bug"
          aria-label="Find a bug model"
          data-testid="spec-find"
          value={text}
          maxLength={100}
          onChange={(event) => setText(event.target.value)}
        />
      </header>
      {sections.length === 0 ? <p className="empty">No bug model has this in its words.</p> : null}
      <Virtualizer layout={ListLayout} layoutOptions={listLayout}>
        <ListBox
          ref={list}
          aria-label="Bug models"
          className="spec-models-list"
          items={sections}
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[chosen]}
          onSelectionChange={(keys) => {
            const [key] = keys === 'all' ? [] : keys;
            if (typeof key === 'string' && key !== chosen) onChoose(key);
          }}
        >
          {({ id, models }) => (
            <ListBoxSection id={id}>
              <Header className="spec-models-family">
                {id.replace('Bug', '')}
                <span className="quiet num">{models.length}</span>
              </Header>
              {models.map((model) => (
                <ListBoxItem
                  key={model.name}
                  id={model.name}
                  textValue={model.name}
                  className="spec-models-item"
                  data-testid={`model-${model.name}`}
                >
                  <span>{titleOf(model.name)}</span>
                  <small>
                    {model.violated === 'Temporal' ? 'never comes about' : model.violated} · {model.states}
                  </small>
                </ListBoxItem>
              ))}
            </ListBoxSection>
          )}
        </ListBox>
      </Virtualizer>
    </section>
  );
}
