/** The page's colours for a canvas, which knows no style sheet: read from the tokens, anew when the theme changes. */
import type { Scheme } from '../model/ballot-color.ts';

const names = [
  'bg',
  'surface',
  'surface-2',
  'surface-3',
  'line',
  'line-strong',
  'text',
  'text-2',
  'text-3',
  'ink',
  'on-ink',
  'good',
  'warn',
  'warn-soft',
  'bad',
  'bad-soft',
  'accent',
  'accent-soft',
] as const;

type ColorName = (typeof names)[number];

export interface Palette {
  readonly scheme: Scheme;
  readonly colors: Readonly<Record<ColorName, string>>;
  readonly sans: string;
  readonly mono: string;
}

export function readPalette(): Palette {
  const probe = document.createElement('span');
  document.body.append(probe);
  const colors = Object.fromEntries(
    names.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  ) as Record<ColorName, string>;
  probe.style.color = 'light-dark(rgb(0 0 0), rgb(255 255 255))';
  const scheme = getComputedStyle(probe).color === 'rgb(0, 0, 0)' ? 'light' : 'dark';
  probe.style.fontFamily = 'var(--mono)';
  const mono = getComputedStyle(probe).fontFamily;
  probe.remove();
  return { scheme, colors, sans: getComputedStyle(document.body).fontFamily, mono };
}
