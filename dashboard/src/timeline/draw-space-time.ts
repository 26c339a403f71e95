/** Draws the space-time diagram on a canvas: only what the geometry says. */
import { ballotColor } from '../model/ballot-color.ts';
import type { Palette } from '../stage/palette.ts';
import type { Arrow, SpaceTime } from './space-time.ts';

export interface SpaceTimeScene {
  readonly size: { readonly width: number; readonly height: number };
  readonly view: SpaceTime;
  readonly arrows: readonly Arrow[];
  readonly atUs: number;
  readonly spanMs: number;
  readonly ids: readonly string[];
}

type Brush = CanvasRenderingContext2D;

export function drawSpaceTime(brush: Brush, scene: SpaceTimeScene, palette: Palette): void {
  const { size, view, arrows, ids } = scene;
  const { colors, mono } = palette;
  brush.clearRect(0, 0, size.width, size.height);
  brush.lineWidth = 1.5;
  for (const id of ids) {
    const y = view.rows.get(id)!;
    brush.strokeStyle = colors['line-strong'];
    brush.beginPath();
    brush.moveTo(view.left, y);
    brush.lineTo(view.right, y);
    brush.stroke();
    brush.fillStyle = colors.text;
    brush.font = `600 14px ${mono}`;
    brush.textAlign = 'left';
    brush.fillText(id, 20, y + 5);
  }
  brush.save();
  brush.beginPath();
  brush.rect(view.left, 0, view.right - view.left, size.height);
  brush.clip();
  for (const arrow of arrows) drawArrow(brush, arrow, palette);
  brush.restore();
  drawScale(brush, scene, palette);
}

function drawArrow(brush: Brush, { flight, start, end, isLost }: Arrow, { colors, scheme }: Palette): void {
  const isQuiet = flight.kind === 'heartbeat' || flight.kind === 'acknowledgement';
  const color =
    flight.message === null || isQuiet ? colors['text-3'] : ballotColor(flight.message.ballot, scheme);
  brush.strokeStyle = color;
  brush.fillStyle = color;
  brush.globalAlpha = isQuiet ? 0.35 : 0.85;
  brush.lineWidth = flight.kind === 'prepare' || flight.kind === 'promise' ? 2 : 1.1;
  brush.setLineDash(isLost ? [3, 4] : []);
  brush.beginPath();
  brush.moveTo(start.x, start.y);
  brush.lineTo(end.x, end.y);
  brush.stroke();
  brush.setLineDash([]);
  const heading = Math.atan2(end.y - start.y, end.x - start.x);
  brush.beginPath();
  if (isLost) {
    brush.moveTo(end.x - 4, end.y - 4);
    brush.lineTo(end.x + 4, end.y + 4);
    brush.moveTo(end.x + 4, end.y - 4);
    brush.lineTo(end.x - 4, end.y + 4);
    brush.strokeStyle = colors.bad;
    brush.stroke();
  } else {
    for (const turn of [0, 2.7, -2.7]) {
      const reach = turn === 0 ? 0 : 6;
      brush.lineTo(end.x + Math.cos(heading + turn) * reach, end.y + Math.sin(heading + turn) * reach);
    }
    brush.closePath();
    brush.fill();
  }
  brush.globalAlpha = 1;
}

function drawScale(
  brush: Brush,
  { view, atUs, spanMs, size }: SpaceTimeScene,
  { colors, sans }: Palette,
): void {
  const x = view.left + ((atUs - view.fromUs) / (view.toUs - view.fromUs)) * (view.right - view.left);
  if (x < view.right - 1) {
    brush.strokeStyle = colors.accent;
    brush.lineWidth = 2;
    brush.beginPath();
    brush.moveTo(x, 40);
    brush.lineTo(x, size.height - 20);
    brush.stroke();
  }
  const unitMs = 10 ** Math.floor(Math.log10(spanMs / 4));
  const width = (unitMs / spanMs) * (view.right - view.left);
  const y = size.height - 12;
  brush.strokeStyle = colors['text-3'];
  brush.lineWidth = 1.5;
  brush.beginPath();
  brush.moveTo(view.left, y - 4);
  brush.lineTo(view.left, y);
  brush.lineTo(view.left + width, y);
  brush.lineTo(view.left + width, y - 4);
  brush.stroke();
  brush.fillStyle = colors['text-3'];
  brush.font = `400 11px ${sans}`;
  brush.textAlign = 'left';
  const text = unitMs >= 1_000 ? `${unitMs / 1_000} s` : `${unitMs} ms`;
  brush.fillText(text, view.left + width + 8, y);
}
