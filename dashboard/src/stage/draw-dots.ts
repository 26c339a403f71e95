/** Draws messages: the colour is the ballot, the shape is the kind, and a number says how many fly together. */
import { ballotColor } from '../model/ballot-color.ts';
import type { FlightKind } from '../run/flown-message.ts';
import type { Dot } from './dots.ts';
import type { Palette } from './palette.ts';

type Brush = CanvasRenderingContext2D;

export function drawDot(brush: Brush, dot: Dot, palette: Palette): void {
  const { at, flight, count, fading, heading, kind, radius } = dot;
  const { colors, scheme, sans } = palette;
  const color = flight.message === null ? colors['text-3'] : ballotColor(flight.message.ballot, scheme);
  brush.globalAlpha = 1 - fading * 0.85;
  brush.save();
  brush.translate(at.x, at.y);
  brush.rotate(heading);
  drawKind(brush, kind, { radius, color, ground: colors.bg });
  brush.restore();
  if (count >= 8) {
    brush.font = `600 10px ${sans}`;
    brush.textAlign = 'center';
    brush.fillStyle = colors['text-3'];
    brush.fillText(String(count), at.x, at.y - radius - 4);
  }
  brush.globalAlpha = 1;
}

interface KindOptions {
  readonly radius: number;
  readonly color: string;
  readonly ground: string;
}

/** Heading to the right. What asks is filled, what answers is a ring of the same shape. */
export function drawKind(brush: Brush, kind: FlightKind, { radius: r, color, ground }: KindOptions): void {
  brush.fillStyle = color;
  brush.strokeStyle = color;
  brush.lineWidth = 1.8;
  brush.lineJoin = 'round';
  brush.lineCap = 'round';
  brush.beginPath();
  switch (kind) {
    case 'prepare':
    case 'promise':
      brush.moveTo(r * 1.3, 0);
      brush.lineTo(-r, -r * 1.1);
      brush.lineTo(-r, r * 1.1);
      brush.closePath();
      break;
    case 'accept':
    case 'accepted':
    case 'heartbeat':
    case 'acknowledgement':
      brush.arc(0, 0, r, 0, 2 * Math.PI);
      break;
    case 'catchUp':
      brush.rect(-r, -r * 0.8, 2 * r, 1.6 * r);
      break;
    case 'reject':
      brush.moveTo(-r, -r);
      brush.lineTo(r, r);
      brush.moveTo(r, -r);
      brush.lineTo(-r, r);
      brush.stroke();
      return;
    default:
      kind satisfies never;
  }
  if (kind === 'promise' || kind === 'accepted' || kind === 'acknowledgement') {
    brush.fillStyle = ground;
    brush.fill();
    brush.stroke();
  } else brush.fill();
}
