/**
 * A line chart over the last two minutes, drawn by uPlot, with a legend that is text and marks of what befell the group.
 *
 * All charts of the page have one cursor: the pointer's or the keyboard's in any of them. A click or Enter looks at that moment of the run.
 * Does not compute figures. A canvas does not see CSS, so colours are read from the page, and read again with the theme.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type ChartMark, marksAt } from '../model/chart-marks.ts';
import { type ChartLine, chartOptions } from './chart-options.ts';
import { useSize } from './hooks.ts';
import './chart.css';

interface ChartProps {
  readonly label: string;
  readonly lines: readonly ChartLine[];
  /** Times in seconds, then one column for each line. */
  readonly data: uPlot.AlignedData;
  readonly marks: readonly ChartMark[];
  readonly format: (value: number) => string;
  /** Whatever changes with the theme. */
  readonly themeKey: string;
  /** A moment was picked, on the run's clock. */
  readonly onPick: (ms: number) => void;
}

export function Chart(props: ChartProps) {
  const [ref, size] = useSize();
  const [cursor, setCursor] = useState<number | null>(null);
  const plot = useRef<uPlot | null>(null);
  const onPlot = useCallback((drawn: uPlot | null) => {
    plot.current = drawn;
  }, []);
  const times = props.data[0];
  const last = times.length - 1;
  const index = Math.min(cursor ?? last, last);
  const shape = `${props.themeKey} ${props.lines.map((line) => line.name).join()} ${size.width}x${size.height}`;
  const told = tellAt(props, index);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = indexForKey(event.key, index, last);
    if (event.key === 'Enter') props.onPick(times[index]! * 1000);
    else if (event.key === 'Escape') moveCursor(plot.current, null);
    else if (next !== null) moveCursor(plot.current, next);
    else return;
    event.preventDefault();
  };
  return (
    <figure className="chart" aria-label={props.label}>
      <figcaption className="chart-legend">
        {props.lines.map((line, column) => (
          <span key={line.name}>
            <i style={{ borderTopColor: line.color, borderTopStyle: line.dashed ? 'dashed' : 'solid' }} />
            {line.name}
            <b className="num">{formatAt(props, column, index)}</b>
          </span>
        ))}
        <span className="chart-moment num">{cursor === null ? '' : told.moment}</span>
      </figcaption>
      <div
        ref={ref}
        className="chart-space"
        role="slider"
        tabIndex={0}
        aria-label={`${props.label}: moment`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, index)}
        aria-valuetext={told.all}
        title="A click looks at that moment"
        onKeyDown={onKeyDown}
        onBlur={() => moveCursor(plot.current, null)}
      >
        {size.width === 0 ? null : (
          <Plot key={shape} {...props} onPlot={onPlot} size={size} onCursor={setCursor} />
        )}
      </div>
    </figure>
  );
}

/** When it was, what befell then, and every line's figure. */
function tellAt(props: ChartProps, index: number): { readonly moment: string; readonly all: string } {
  const at = props.data[0][index];
  if (at === undefined) return { moment: '', all: 'nothing was measured yet' };
  const before = props.data[0][index - 1] ?? at - 1;
  const befell = marksAt(props.marks, before * 1000, at * 1000).map(({ text }) => text);
  const moment = [new Date(at * 1000).toLocaleTimeString('en-GB'), ...befell].join(' · ');
  const figures = props.lines.map(({ name }, column) => `${name} ${formatAt(props, column, index)}`);
  return { moment, all: [moment, ...figures].join(', ') };
}

function indexForKey(key: string, index: number, last: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: index - 1,
    ArrowRight: index + 1,
    PageUp: index - 10,
    PageDown: index + 10,
    Home: 0,
    End: last,
  };
  const next = steps[key];
  return next === undefined || last < 0 ? null : Math.min(last, Math.max(0, next));
}

/** Of all charts; null: it is taken away. */
function moveCursor(plot: uPlot | null, index: number | null): void {
  if (plot === null) return;
  const at = index === null ? undefined : plot.data[0][index];
  const left = at === undefined ? -10 : plot.valToPos(at, 'x');
  // The third of what it takes the types leave out: the other charts are told.
  const chart = plot as unknown as {
    setCursor(at: { readonly left: number; readonly top: number }, fire: boolean, tell: boolean): void;
  };
  chart.setCursor({ left, top: left < 0 ? -10 : 10 }, true, true);
}

function formatAt(props: ChartProps, column: number, index: number): string {
  const value = props.data[column + 1]?.[index] ?? null;
  return value === null ? '–' : props.format(value);
}

interface PlotProps extends ChartProps {
  readonly size: { readonly width: number; readonly height: number };
  readonly onPlot: (plot: uPlot | null) => void;
  readonly onCursor: (index: number | null) => void;
}

/** One uPlot for the life of the component; only the data and the marks change under it. */
function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const { onPlot } = props;
  const plot = useRef<uPlot | null>(null);
  const marks = useRef(props.marks);
  const first = useRef(props);
  const onPick = useRef(props.onPick);

  useEffect(() => {
    if (host.current === null) return undefined;
    const created = new uPlot(
      chartOptions({
        ...first.current,
        marks: () => marks.current,
        onPick: (ms) => onPick.current(ms),
      }),
      first.current.data,
      host.current,
    );
    plot.current = created;
    onPlot(created);
    return () => {
      plot.current = null;
      onPlot(null);
      created.destroy();
    };
  }, [onPlot]);

  useEffect(() => {
    marks.current = props.marks;
    onPick.current = props.onPick;
    plot.current?.setData(props.data);
  }, [props.data, props.marks, props.onPick]);

  return <div className="chart-canvas" ref={host} />;
}
