/** Draws, over the stage, a quiet ring around what a scenario speaks of. */
import type { Point } from '../layout/ring.ts';
import { curveOf, type Ends } from './links.ts';
import type { Palette } from './palette.ts';
import type { Places } from './places.ts';

export interface Marked {
  readonly replicas: readonly string[];
  readonly links?: readonly Ends[];
}

const ringPx = 7;

export function drawMarks(
  brush: CanvasRenderingContext2D,
  { replicas, links = [] }: Marked,
  { nodes, radius }: Pick<Places, 'nodes' | 'radius'>,
  { colors }: Pick<Palette, 'colors'>,
): void {
  brush.save();
  brush.strokeStyle = colors.accent;
  brush.lineWidth = 2;
  for (const id of replicas) {
    const at: Point | undefined = nodes.get(id);
    if (at === undefined) continue;
    brush.beginPath();
    brush.arc(at.x, at.y, radius + ringPx, 0, 2 * Math.PI);
    brush.stroke();
  }
  brush.lineWidth = 7;
  brush.lineCap = 'round';
  brush.globalAlpha = 0.28;
  for (const link of links) {
    const from = nodes.get(link.from);
    const to = nodes.get(link.to);
    if (from === undefined || to === undefined) continue;
    const { start, control, end } = curveOf(from, to, radius);
    brush.beginPath();
    brush.moveTo(start.x, start.y);
    brush.quadraticCurveTo(control.x, control.y, end.x, end.y);
    brush.stroke();
  }
  brush.restore();
}
