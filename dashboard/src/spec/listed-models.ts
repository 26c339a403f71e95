/** The bug models in a list: those with given words, by the specification that they break, and where one of them stands. Pure. */
import { familyOf, type ListedCounterexample } from './counterexample.ts';

export interface ModelSection {
  readonly id: string;
  readonly models: readonly ListedCounterexample[];
}

/** Each in CSS pixels. */
export const listLayout = { rowHeight: 44, headingHeight: 30, padding: 4 } as const;

export function sectionsOf(listed: readonly ListedCounterexample[], text: string): readonly ModelSection[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = listed.filter(({ name, shows, violated }) => {
    const all = `${name} ${shows} ${violated}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  return [...new Set(found.map(({ name }) => familyOf(name)))].map((id) => ({
    id,
    models: found.filter(({ name }) => familyOf(name) === id),
  }));
}

/** Where its row begins, below the top of the list; null: it is not in it. */
export function rowTop(sections: readonly ModelSection[], name: string): number | null {
  const { rowHeight, headingHeight, padding } = listLayout;
  let top: number = padding;
  for (const { models } of sections) {
    top += headingHeight;
    const at = models.findIndex((model) => model.name === name);
    if (at !== -1) return top + at * rowHeight;
    top += models.length * rowHeight;
  }
  return null;
}

/** How far a list is to be scrolled for a row to be seen: not at all where it is. Else it stands in the middle. */
export function scrolledTo(
  top: number,
  { scrollTop, clientHeight }: { readonly scrollTop: number; readonly clientHeight: number },
): number {
  const isSeen = top >= scrollTop && top + listLayout.rowHeight <= scrollTop + clientHeight;
  return isSeen ? scrollTop : Math.max(0, top - (clientHeight - listLayout.rowHeight) / 2);
}
