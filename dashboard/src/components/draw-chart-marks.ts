/** Marks in a chart: a line for each, its label beside it where there is room; elections in the row above that of faults. */
import type uPlot from 'uplot';
import type { ChartMark } from '../model/chart-marks.ts';

export interface MarkColors {
  readonly line: string;
  readonly text: string;
  readonly fault: string;
  readonly mended: string;
  readonly font: string;
}

const rowHeight = 11;
const labelCharsMax = 24;

export function drawMarks(plot: uPlot, marks: readonly ChartMark[], colors: MarkColors): void {
  const { ctx, bbox } = plot;
  const px = devicePixelRatio;
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.lineWidth = px;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.font = `600 ${10 * px}px ${colors.font}`;
  const freeFrom = { election: bbox.left, other: bbox.left };
  for (const { atMs, kind, label } of marks) {
    const x = Math.round(plot.valToPos(atMs / 1000, 'x', true));
    if (x < bbox.left || x > right) continue;
    const row = kind === 'election' ? 'election' : 'other';
    const top = bbox.top + (row === 'election' ? 0 : rowHeight * px);
    const color = kind === 'election' ? colors.line : kind === 'fault' ? colors.fault : colors.mended;
    ctx.strokeStyle = color;
    ctx.setLineDash(kind === 'fault' ? [] : [2 * px, 3 * px]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const text = label.length > labelCharsMax ? `${label.slice(0, labelCharsMax - 1)}…` : label;
    const width = ctx.measureText(text).width + 8 * px;
    if (x < freeFrom[row] || x + width > right + 4 * px) continue;
    ctx.fillStyle = kind === 'election' ? colors.text : color;
    ctx.fillText(text, x + 4 * px, top + (rowHeight / 2) * px);
    freeFrom[row] = x + width;
  }
  ctx.restore();
}
