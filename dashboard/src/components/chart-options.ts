/** How a chart is drawn: uPlot's options, with the page's colours as they are now. */
import type uPlot from 'uplot';
import type { ChartMark } from '../model/chart-marks.ts';
import { lonePoints } from '../model/lone-points.ts';
import { drawMarks, type MarkColors } from './draw-chart-marks.ts';

const spanMaxSeconds = 120;
const spanMinSeconds = 30;
/** The charts with this key have one cursor. */
const syncKey = 'run';
/** Of a time of day as the axis shows it. */
const clockWidth = 52;

export interface ChartLine {
  readonly name: string;
  /** A CSS colour, possibly a variable. */
  readonly color: string;
  readonly dashed: boolean;
}

export interface ChartLooks {
  readonly size: { readonly width: number; readonly height: number };
  readonly lines: readonly ChartLine[];
  readonly format: (value: number) => string;
  /** As they are whenever it is drawn. */
  readonly marks: () => readonly ChartMark[];
  readonly onPick: (ms: number) => void;
  readonly onCursor: (index: number | null) => void;
}

export function chartOptions({ size, lines, format, marks, onPick, onCursor }: ChartLooks): uPlot.Options {
  const colors: MarkColors = {
    line: resolveColor('var(--text-3)'),
    text: resolveColor('var(--text-2)'),
    fault: resolveColor('var(--bad)'),
    mended: resolveColor('var(--good)'),
    font: bodyFont(),
  };
  const axis = {
    stroke: resolveColor('var(--text-3)'),
    font: `11px ${bodyFont()}`,
    grid: { stroke: resolveColor('var(--surface-3)'), width: 1 },
    ticks: { show: false },
  };
  const clock = (plot: uPlot, ticks: number[]): string[] =>
    ticks.map((tick) => (hasRoom(plot, tick) ? new Date(tick * 1000).toLocaleTimeString('en-GB') : ''));
  return {
    ...size,
    padding: [4, 4, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 6 },
      sync: { key: syncKey, setSeries: false },
    },
    scales: {
      x: { time: true, range: timeRange },
      y: { range: (_, __, max) => [0, Math.max(1, (max || 1) * 1.2)] },
    },
    axes: [
      { ...axis, space: 80, size: 28, grid: { show: false }, values: clock },
      { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map(format) },
    ],
    series: [{}, ...lines.map(seriesOf)],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks(), colors)],
      ready: [
        (plot) => {
          plot.over.addEventListener('click', () => {
            const { left } = plot.cursor;
            if (left !== undefined && left >= 0) onPick(plot.posToVal(left, 'x') * 1000);
          });
        },
      ],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
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
