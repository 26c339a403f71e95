/** Line icons on a 16-unit grid. Decoration only: what carries one also has a text or an aria-label. */
const shapes = {
  crash: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6l7.5-4.8z',
  stepBack: 'M4 3.5v9M12 3.5 6.5 8l5.5 4.5z',
  stepForward: 'M12 3.5v9M4 3.5 9.5 8 4 12.5z',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3.2H9.8',
  database:
    'M2.5 4c0-1.2 2.5-2 5.5-2s5.5.8 5.5 2-2.5 2-5.5 2-5.5-.8-5.5-2zm0 0v8c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2V4M6 8.5l4 3M10 8.5l-4 3',
  isolate: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM1.5 3l2 2M14.5 3l-2 2M1.5 13l2-2M14.5 13l-2-2',
  heal: 'M8 13.5S2 10 2 5.8A3.2 3.2 0 0 1 8 4.4a3.2 3.2 0 0 1 6 1.4C14 10 8 13.5 8 13.5z',
  crown: 'M2.5 12.5h11M2.5 10 2 4.5l3.3 2.3L8 3l2.7 3.8L14 4.5 13.5 10z',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z',
  screen: 'M2 3h12v8H2zM6 14h4M8 11v3',
  wipe: 'M9.2 2.5 2.8 9a1.4 1.4 0 0 0 0 2l2.4 2.5h3.2l5-5a1.4 1.4 0 0 0 0-2l-3-3a1 1 0 0 0-1.2-1zM6 6l5 5M8 13.5h6',
  compare: 'M3 5.5h10M3 10.5h10M10 2.5l3 3-3 3M6 7.5l-3 3 3 3',
  close: 'm4 4 8 8M12 4l-8 8',
  follow: 'M3 3.5 8 8l-5 4.5M8.5 3.5l5 4.5-5 4.5',
  warning: 'M8 2 1.5 13.5h13zM8 6.5v3.2M8 11.7v.1',
  plug: 'M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.5',
  scenario: 'M3 2.5h7.5L13 5v8.5H3zM10.5 2.5V5H13M5.5 7.5h5M5.5 10.5h3',
  history: 'M2.5 8a5.5 5.5 0 1 0 1.6-3.9M2.5 2.5v2.6h2.6M8 5v3.2l2 1.3',
  present: 'M2 2.5h12M3 2.5v8h10v-8M8 10.5v2.5M5 14.5l3-2.5 3 2.5',
  seed: 'M3 3h10v10H3zM5.8 5.8h.1M10.2 5.8h.1M8 8h.1M5.8 10.2h.1M10.2 10.2h.1',
  export: 'M8 2v8M4.8 6.8 8 10l3.2-3.2M2.5 13.5h11',
  keys: 'M1.5 4h13v8h-13zM4 6.7h.1M6.7 6.7h.1M9.3 6.7h.1M12 6.7h.1M5 9.5h6',
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}
