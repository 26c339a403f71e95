/** All keys of the page, as people are told of them. A test holds it to the keys that there are. */
export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly { readonly keys: readonly string[]; readonly text: string }[];
}

export const keyList: readonly KeyGroup[] = [
  {
    title: 'Everywhere',
    keys: [
      { keys: ['1', '2', '3', '4'], text: 'Lab, Compare, Spec, Operator' },
      { keys: ['p'], text: 'Presenter mode: the stage, time and what happened, for a whole room' },
      { keys: ['Escape'], text: 'Leave presenter mode; close what is open' },
      { keys: ['?'], text: 'These keys' },
    ],
  },
  {
    title: 'Time, in Lab and Compare',
    keys: [
      { keys: [' '], text: 'Pause, or play' },
      { keys: ['ArrowLeft', 'ArrowRight'], text: 'One step back, one step forward' },
      { keys: ['Shift+ArrowLeft', 'Shift+ArrowRight'], text: 'A second back, a second forward' },
      { keys: ['Home'], text: 'The beginning of what is kept' },
      { keys: ['End'], text: 'Now' },
    ],
  },
  {
    title: 'Lab',
    keys: [
      { keys: ['d'], text: 'The stage, or messages as arrows in time' },
      { keys: ['+', '-'], text: 'Of these arrows: less time in view, or more' },
      { keys: ['s'], text: 'Scenarios' },
    ],
  },
  {
    title: 'On the stage',
    keys: [
      { keys: ['Tab'], text: 'From replica to replica, and to the links' },
      { keys: ['Enter'], text: 'What it believes, and what can befall it' },
    ],
  },
];

const names: Readonly<Record<string, string>> = {
  ' ': 'Space',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
};

/** As it is written on a keyboard. */
export function spellKey(key: string): string {
  return key
    .split(/(?<=.)\+/)
    .map((part) => names[part] ?? part)
    .join(' ');
}
