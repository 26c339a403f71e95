/**
 * A line chart over the last two minutes, drawn by uPlot, with a legend that is text and marks where leadership changed.
 *
 * Does not compute figures. A canvas does not see CSS, so colours are read from the page, and read again with the theme.
 */
import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { LeaderChange } from '../model/rate-series.ts';
import { lonePoints } from '../model/lone-points.ts';
import { useSize } from './hooks.ts';
import './chart.css';

const spanMaxSeconds = 120;
const spanMinSeconds = 30;

export interface ChartLine {
  readonly name: string;
  /** A CSS colour, possibly a variable. */
  readonly color: string;
  readonly dashed: boolean;
}

interface ChartProps {
  readonly label: string;
  readonly lines: readonly ChartLine[];
  /** Times in seconds, then one column for each line. */
  readonly data: uPlot.AlignedData;
  readonly changes: readonly LeaderChange[];
  readonly format: (value: number) => string;
  /** Whatever changes with the theme. */
  readonly themeKey: string;
}

/** Of a time of day as the axis shows it. */
const clockWidth = 52;

export function Chart(props: ChartProps) {
  const [ref, size] = useSize();
  const [cursor, setCursor] = useState<number | null>(null);
  const index = cursor ?? props.data[0].length - 1;
  const shape = `${props.themeKey} ${props.lines.map((line) => line.name).join()} ${size.width}x${size.height}`;
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
      </figcaption>
      <div ref={ref} className="chart-space">
        {size.width === 0 ? null : <Plot key={shape} {...props} size={size} onCursor={setCursor} />}
      </div>
    </figure>
  );
}

function formatAt(props: ChartProps, column: number, index: number): string {
  const value = props.data[column + 1]?.[index] ?? null;
  return value === null ? '–' : props.format(value);
}

interface PlotProps extends ChartProps {
  readonly size: { readonly width: number; readonly height: number };
  readonly onCursor: (index: number | null) => void;
}

/** One uPlot for the life of the component; only the data and the marks change under it. */
function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const changes = useRef(props.changes);
  const first = useRef(props);

  useEffect(() => {
    if (host.current === null) return undefined;
    const created = new uPlot(
      optionsOf(first.current, () => changes.current),
      first.current.data,
      host.current,
    );
    plot.current = created;
    return () => {
      plot.current = null;
      created.destroy();
    };
  }, []);

  useEffect(() => {
    changes.current = props.changes;
    plot.current?.setData(props.data);
  }, [props.data, props.changes]);

  return <div className="chart-canvas" ref={host} />;
}

function optionsOf(props: PlotProps, changes: () => readonly LeaderChange[]): uPlot.Options {
  const axis = {
    stroke: resolveColor('var(--text-3)'),
    font: `11px ${bodyFont()}`,
    grid: { stroke: resolveColor('var(--surface-3)'), width: 1 },
    ticks: { show: false },
  };
  const clock = (plot: uPlot, ticks: number[]): string[] =>
    ticks.map((tick) => (hasRoom(plot, tick) ? new Date(tick * 1000).toLocaleTimeString('en-GB') : ''));
  return {
    ...props.size,
    padding: [12, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: timeRange },
      y: { range: (_, __, max) => [0, Math.max(1, (max || 1) * 1.2)] },
    },
    axes: [
      { ...axis, space: 80, size: 28, grid: { show: false }, values: clock },
      { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map(props.format) },
    ],
    series: [{}, ...props.lines.map(seriesOf)],
    hooks: {
      draw: [(plot) => drawChanges(plot, changes())],
      setCursor: [(plot) => props.onCursor(plot.cursor.idx ?? null)],
    },
  };
}

/** A time is written in the middle below its tick: near an end of the axis it would be cut off. */
function hasRoom(plot: uPlot, tick: number): boolean {
  const end = plot.bbox.width / devicePixelRatio;
  const at = plot.valToPos(tick, 'x');
  return end === 0 || (at >= clockWidth / 2 && at <= end - clockWidth / 2);
}

function timeRange(_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  const end = max ?? Date.now() / 1000;
  const start = Math.min(min ?? end, end - spanMinSeconds);
  return [Math.max(start, end - spanMaxSeconds), end];
}

function seriesOf(line: ChartLine): uPlot.Series {
  const stroke = resolveColor(line.color);
  const points: uPlot.Series.Points = {
    show: true,
    size: line.dashed ? 4 : 6,
    fill: stroke,
    width: 0,
    filter: (plot, series) => lonePoints(plot.data[series]!),
  };
  return line.dashed ? { stroke, width: 1.25, dash: [4, 4], points } : { stroke, width: 2, points };
}

function resolveColor(color: string): string {
  const probe = document.createElement('span');
  probe.style.color = color;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

function bodyFont(): string {
  return getComputedStyle(document.body).fontFamily;
}

/** A dashed line at each change, with the new leader's name beside it where there is room. */
function drawChanges(plot: uPlot, changes: readonly LeaderChange[]): void {
  const { ctx, bbox } = plot;
  const px = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = resolveColor('var(--text-3)');
  ctx.fillStyle = resolveColor('var(--text-2)');
  ctx.lineWidth = px;
  ctx.textAlign = 'left';
  ctx.font = `600 ${10 * px}px ${bodyFont()}`;
  ctx.setLineDash([2 * px, 3 * px]);
  let freeFrom = bbox.left;
  for (const change of changes) {
    const x = plot.valToPos(change.at / 1000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const text = change.leader ?? '';
    const width = ctx.measureText(text).width + 8 * px;
    if (x < freeFrom || x + width > bbox.left + bbox.width + 4 * px) continue;
    ctx.fillText(text, x + 4 * px, bbox.top + 6 * px);
    freeFrom = x + (text === '' ? 0 : width);
  }
  ctx.restore();
}
