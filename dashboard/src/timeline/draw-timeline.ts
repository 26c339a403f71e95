/** Draws the time line on a canvas: only what tracks and scale say. Decides nothing, keeps nothing. */
import { ballotColor } from '../model/ballot-color.ts';
import { formatBallot } from '../model/cluster-view.ts';
import type { Palette } from '../stage/palette.ts';
import { answerBars, lossesIn } from './answers.ts';
import { type Scale, spellOffset, thinned, ticksOf, xOf } from './scale.ts';
import type { Flag, Span, Tracks } from './tracks.ts';

export const laneLeft = 52;
export const laneRight = 20;
const top = 24;
const bottom = 22;

export interface TimelineScene {
  readonly size: { readonly width: number; readonly height: number };
  readonly scale: Scale;
  readonly ids: readonly string[];
  readonly tracks: Tracks;
  readonly momentMs: number;
  readonly isFollowing: boolean;
  /** What ticks are told from, and what that is called. */
  readonly zeroMs: number;
  readonly zero: string;
  readonly firstMs: number;
  readonly pointerX: number | null;
}

type Brush = CanvasRenderingContext2D;

export function drawTimeline(brush: Brush, scene: TimelineScene, palette: Palette): void {
  const { size, ids, tracks } = scene;
  brush.clearRect(0, 0, size.width, size.height);
  drawTicks(brush, scene, palette);
  const hasAnswers = tracks.answers.status !== null;
  const lane = (size.height - top - bottom) / Math.max(1, ids.length + (hasAnswers ? 1 : 0));
  ids.forEach((id, index) => drawLane(brush, scene, { palette, id, y: top + lane * (index + 0.5), lane }));
  if (hasAnswers)
    drawAnswers(brush, scene, { palette, foot: top + lane * (ids.length + 0.9), height: lane * 0.7 });
  drawFlags(brush, scene, palette);
  drawMoment(brush, scene, palette);
}

function drawTicks(
  brush: Brush,
  { scale, size, zeroMs, zero }: TimelineScene,
  { colors, sans }: Palette,
): void {
  brush.font = `400 11px ${sans}`;
  brush.textAlign = 'center';
  brush.lineWidth = 1;
  for (const { ms, label } of ticksOf(scale, zeroMs, zero)) {
    const x = Math.round(xOf(scale, ms)) + 0.5;
    brush.strokeStyle = colors['surface-3'];
    brush.beginPath();
    brush.moveTo(x, top - 4);
    brush.lineTo(x, size.height - bottom + 2);
    brush.stroke();
    brush.fillStyle = colors['text-3'];
    if (x > laneLeft + 12) brush.fillText(label, Math.min(x, size.width - 16), size.height - 7);
  }
}

interface LaneOptions {
  readonly palette: Palette;
  readonly id: string;
  readonly y: number;
  readonly lane: number;
}

function drawLane(brush: Brush, scene: TimelineScene, { palette, id, y, lane }: LaneOptions): void {
  const { scale, tracks } = scene;
  brush.fillStyle = palette.colors['text-2'];
  brush.font = `600 12px ${palette.mono}`;
  brush.textAlign = 'left';
  brush.fillText(id, 14, y + 4);
  brush.save();
  brush.beginPath();
  brush.rect(scale.left, 0, scale.right - scale.left, scene.size.height);
  brush.clip();
  const height = Math.min(18, lane * 0.66);
  const spans = tracks.spans.get(id) ?? [];
  for (const [index, span] of spans.entries()) {
    if (span.toMs < scale.fromMs || span.fromMs > scale.toMs) continue;
    const isLast = index === spans.length - 1;
    drawSpan(brush, span, { scene, palette, y, height, isLast });
  }
  drawPositions(brush, scene, { palette, id, y, lane });
  for (const { atMs, kind, replica } of tracks.elections)
    if (replica === id && atMs >= scale.fromMs && atMs <= scale.toMs)
      drawElection(brush, { x: xOf(scale, atMs), y, height, isWon: kind === 'won', palette });
  brush.restore();
}

interface SpanOptions {
  readonly scene: TimelineScene;
  readonly palette: Palette;
  readonly y: number;
  readonly height: number;
  readonly isLast: boolean;
}

function drawSpan(brush: Brush, span: Span, { scene, palette, y, height, isLast }: SpanOptions): void {
  const { scale } = scene;
  const { colors, scheme, sans } = palette;
  const from = Math.max(scale.left - 8, xOf(scale, span.fromMs));
  const to = Math.min(scale.right + 8, xOf(scale, isLast && scene.isFollowing ? scale.toMs : span.toMs));
  const width = Math.max(1.5, to - from - 1);
  if (span.process === 'stopped') {
    brush.strokeStyle = colors['line-strong'];
    brush.lineWidth = 1.5;
    brush.setLineDash([2, 5]);
    brush.beginPath();
    brush.moveTo(from, y);
    brush.lineTo(from + width, y);
    brush.stroke();
    brush.setLineDash([]);
    return;
  }
  const color = span.ballot === null ? colors['line-strong'] : ballotColor(span.ballot, scheme);
  const high = span.isLeading ? height : height * 0.42;
  brush.fillStyle = color;
  brush.globalAlpha = span.process === 'paused' ? 0.28 : span.isLeading ? 1 : 0.62;
  brush.beginPath();
  brush.roundRect(from, y - high / 2, width, high, Math.min(4, high / 2));
  brush.fill();
  brush.globalAlpha = 1;
  if (!span.isLeading || span.ballot === null || width < 44 || height < 13) return;
  brush.fillStyle = scheme === 'light' ? '#fff' : '#161412';
  brush.font = `600 11px ${sans}`;
  brush.textAlign = 'left';
  brush.fillText(formatBallot(span.ballot), Math.max(from, scale.left) + 7, y + 4);
}

/** How far it was, between the least and the most that anybody was at in view: one that lags lies below the others. */
function drawPositions(brush: Brush, scene: TimelineScene, { palette, id, y, lane }: LaneOptions): void {
  const { scale, tracks } = scene;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const positions of tracks.positions.values())
    for (const { atMs, commitPoint } of positions) {
      if (atMs < scale.fromMs || atMs > scale.toMs) continue;
      least = Math.min(least, commitPoint);
      most = Math.max(most, commitPoint);
    }
  if (most <= least) return;
  brush.strokeStyle = palette.colors.text;
  brush.globalAlpha = 0.4;
  brush.lineWidth = 1;
  brush.beginPath();
  let isFirst = true;
  for (const { atMs, commitPoint } of thinned(tracks.positions.get(id) ?? [], scale, 2)) {
    const at = y + lane * 0.42 - ((commitPoint - least) / (most - least)) * lane * 0.84;
    if (isFirst) brush.moveTo(xOf(scale, atMs), at);
    else brush.lineTo(xOf(scale, atMs), at);
    isFirst = false;
  }
  brush.stroke();
  brush.globalAlpha = 1;
}

interface AnswersOptions {
  readonly palette: Palette;
  readonly foot: number;
  readonly height: number;
}

function drawAnswers(brush: Brush, scene: TimelineScene, { palette, foot, height }: AnswersOptions): void {
  const { scale, tracks } = scene;
  const { colors, sans } = palette;
  const tones = { acknowledged: colors.good, refused: colors['text-3'], unknown: colors.warn } as const;
  brush.fillStyle = colors['text-2'];
  brush.font = `500 11px ${sans}`;
  brush.textAlign = 'left';
  brush.fillText('clients', 10, foot - height / 2 + 4);
  brush.save();
  brush.beginPath();
  brush.rect(scale.left, 0, scale.right - scale.left, scene.size.height);
  brush.clip();
  for (const { kind, x, width, from, to } of answerBars(tracks.answers.samples, scale)) {
    brush.fillStyle = tones[kind];
    brush.globalAlpha = kind === 'acknowledged' ? 0.7 : 1;
    brush.fillRect(x, foot - to * height, width, Math.max(1, (to - from) * height));
  }
  brush.globalAlpha = 1;
  brush.strokeStyle = colors.bad;
  brush.lineWidth = 2.5;
  for (const x of lossesIn(tracks.answers.samples, scale)) {
    brush.beginPath();
    brush.moveTo(x - 5, foot - height);
    brush.lineTo(x + 5, foot);
    brush.moveTo(x + 5, foot - height);
    brush.lineTo(x - 5, foot);
    brush.stroke();
  }
  brush.restore();
}

interface ElectionOptions {
  readonly x: number;
  readonly y: number;
  readonly height: number;
  readonly isWon: boolean;
  readonly palette: Palette;
}

/** A ring where one stood, a full disc where it won. */
function drawElection(brush: Brush, { x, y, height, isWon, palette: { colors } }: ElectionOptions): void {
  brush.beginPath();
  brush.arc(x, y, Math.min(5, height / 2.4), 0, 2 * Math.PI);
  brush.fillStyle = isWon ? colors.ink : colors.surface;
  brush.fill();
  brush.strokeStyle = isWon ? colors.surface : colors.ink;
  brush.lineWidth = 1.5;
  brush.stroke();
}

function drawFlags(brush: Brush, scene: TimelineScene, palette: Palette): void {
  const { scale, tracks, size } = scene;
  for (const flag of thinned(tracks.flags, scale, 7)) {
    const x = xOf(scale, flag.atMs);
    const color = flagColor(flag, palette);
    brush.strokeStyle = color;
    brush.fillStyle = color;
    brush.lineWidth = 1;
    brush.globalAlpha = 0.45;
    brush.beginPath();
    brush.moveTo(x, 8);
    brush.lineTo(x, size.height - bottom);
    brush.stroke();
    brush.globalAlpha = 1;
    brush.beginPath();
    brush.moveTo(x, 5);
    brush.lineTo(x + 9, 9);
    brush.lineTo(x, 13);
    brush.closePath();
    brush.fill();
  }
  const near = scene.pointerX === null ? null : nearest(tracks.flags, scale, scene.pointerX);
  if (near === null) return;
  brush.font = `500 11px ${palette.sans}`;
  const width = brush.measureText(near.text).width + 14;
  const x = Math.min(xOf(scale, near.atMs) + 12, scale.right - width);
  brush.fillStyle = palette.colors.ink;
  brush.beginPath();
  brush.roundRect(x, 1, width, 19, 5);
  brush.fill();
  brush.fillStyle = palette.colors['on-ink'];
  brush.textAlign = 'left';
  brush.fillText(near.text, x + 7, 14);
}

function nearest(flags: readonly Flag[], scale: Scale, x: number): Flag | null {
  const found = flags.filter(({ atMs }) => Math.abs(xOf(scale, atMs) - x) < 8);
  return found.at(-1) ?? null;
}

function flagColor({ kind }: Flag, { colors }: Palette): string {
  if (kind === 'stopped' || kind === 'fault') return colors.bad;
  return kind === 'paused' ? colors.warn : colors.good;
}

function drawMoment(brush: Brush, scene: TimelineScene, { colors, sans }: Palette): void {
  const { scale, momentMs, isFollowing, size } = scene;
  const x = Math.min(xOf(scale, momentMs), scale.right);
  brush.strokeStyle = isFollowing ? colors['line-strong'] : colors.accent;
  brush.fillStyle = brush.strokeStyle;
  brush.lineWidth = isFollowing ? 1 : 2;
  brush.beginPath();
  brush.moveTo(x, 6);
  brush.lineTo(x, size.height - bottom + 2);
  brush.stroke();
  if (isFollowing) return;
  brush.beginPath();
  brush.arc(x, 7, 5, 0, 2 * Math.PI);
  brush.fill();
  brush.font = `600 11px ${sans}`;
  const text = spellOffset(momentMs - scene.zeroMs);
  const width = brush.measureText(text).width + 12;
  const left = Math.min(Math.max(x - width / 2, scale.left), scale.right - width);
  brush.beginPath();
  brush.roundRect(left, size.height - bottom + 3, width, 17, 4);
  brush.fill();
  brush.fillStyle = colors.surface;
  brush.textAlign = 'left';
  brush.fillText(text, left + 6, size.height - 6);
}
