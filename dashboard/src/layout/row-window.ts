/**
 * Which rows of a long list are in view: rows of one height, drawn only where they can be seen. Pure geometry.
 */
export interface RowWindow {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
  /** Height of what is left out above and below. */
  readonly above: number;
  readonly below: number;
}

export interface RowWindowOptions {
  readonly rows: number;
  readonly rowHeight: number;
  readonly scrollTop: number;
  readonly viewHeight: number;
  /** Rows drawn beyond each edge, so that scrolling shows no gap. */
  readonly overscan: number;
}

export function rowWindow(options: RowWindowOptions): RowWindow {
  const { rows, rowHeight, scrollTop, viewHeight, overscan } = options;
  const inView = Math.ceil(viewHeight / rowHeight);
  const top = Math.min(Math.max(0, Math.floor(scrollTop / rowHeight)), Math.max(0, rows - inView));
  const first = Math.max(0, top - overscan);
  const end = Math.min(rows, top + inView + overscan);
  return { first, end, above: first * rowHeight, below: (rows - end) * rowHeight };
}
