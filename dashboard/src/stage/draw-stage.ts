/** Draws the stage on a canvas: only what places, looks and dots say. Decides nothing, keeps nothing. */
import type { LinkFault } from '../../../server/src/api/status.ts';
import type { Point } from '../layout/ring.ts';
import { ballotColor, onBallot } from '../model/ballot-color.ts';
import { describeFault } from '../model/cluster-view.ts';
import { linkKey } from '../model/trace-model.ts';
import { drawDot } from './draw-dots.ts';
import type { Dot } from './dots.ts';
import { curveOf, type Ends, linksOf, pointOn } from './links.ts';
import type { Look } from './looks.ts';
import type { Palette } from './palette.ts';
import type { Places, StageSize } from './places.ts';

export interface Scene {
  readonly size: StageSize;
  readonly places: Places;
  readonly looks: readonly Look[];
  readonly faults: ReadonlyMap<string, LinkFault>;
  readonly dots: readonly Dot[];
  readonly selected: { readonly replica: string | null; readonly link: Ends | null };
  readonly hovered: { readonly replica: string | null; readonly link: Ends | null };
  /** Since the cluster was last told of. */
  readonly sinceMs: number;
  /** A line that is being drawn. */
  readonly line: { readonly from: Point; readonly to: Point } | null;
  /** Where what is dragged would go. */
  readonly target: { readonly left: number; readonly right: number } | null;
  /** For what moves although nothing happens; 0 where nothing shall. */
  readonly phase: number;
}

type Brush = CanvasRenderingContext2D;

export function drawStage(brush: Brush, scene: Scene, palette: Palette): void {
  brush.clearRect(0, 0, scene.size.width, scene.size.height);
  drawRegions(brush, scene, palette);
  for (const link of linksOf(scene.looks.map(({ id }) => id))) drawLink(brush, scene, palette, link);
  for (const look of scene.looks) if (look.copiesFrom !== null) drawCopy(brush, scene, palette, look);
  for (const dot of scene.dots) drawDot(brush, dot, palette);
  for (const look of scene.looks) drawReplica(brush, scene, palette, look);
  drawHand(brush, scene, palette);
}

function drawRegions(brush: Brush, { places, size, target }: Scene, { colors, sans }: Palette): void {
  const { regions } = places;
  if (target !== null) {
    brush.fillStyle = colors['accent-soft'];
    round(brush, target.left + 10, 10, target.right - target.left - 20, size.height - 20, 16);
    brush.fill();
  }
  if (regions.length < 2) return;
  brush.lineWidth = 1.5;
  brush.strokeStyle = colors.bad;
  brush.setLineDash([3, 7]);
  brush.lineCap = 'round';
  for (const { left } of regions.slice(1)) {
    brush.beginPath();
    brush.moveTo(left, 18);
    brush.lineTo(left, size.height - 18);
    brush.stroke();
  }
  brush.setLineDash([]);
  brush.fillStyle = colors['text-3'];
  brush.font = `500 11px ${sans}`;
  brush.textAlign = 'center';
  for (const { ids, left, right } of regions)
    brush.fillText(
      ids.length === 1 ? `${ids[0]!} alone` : `${ids.length} that reach each other`,
      (left + right) / 2,
      size.height - 12,
    );
}

function drawLink(brush: Brush, scene: Scene, palette: Palette, link: Ends): void {
  const from = scene.places.nodes.get(link.from);
  const to = scene.places.nodes.get(link.to);
  if (from === undefined || to === undefined) return;
  const { colors } = palette;
  const fault = scene.faults.get(linkKey(link.from, link.to)) ?? null;
  const curve = curveOf(from, to, scene.places.radius);
  const isPicked = isSame(scene.selected.link, link) || isSame(scene.hovered.link, link);
  const isDown = scene.looks.some(
    ({ id, liveness }) => (id === link.from || id === link.to) && liveness === 'down',
  );
  brush.beginPath();
  brush.moveTo(curve.start.x, curve.start.y);
  brush.quadraticCurveTo(curve.control.x, curve.control.y, curve.end.x, curve.end.y);
  brush.lineWidth = isPicked ? 2.5 : fault === null ? 1 : 1.5;
  brush.strokeStyle = isPicked
    ? colors.accent
    : fault === null
      ? colors.line
      : fault.cut
        ? colors.bad
        : colors.warn;
  brush.globalAlpha = fault?.cut === true && !isPicked ? 0.55 : isDown && fault === null ? 0.6 : 1;
  brush.setLineDash(fault?.cut === true ? [2, 7] : isDown ? [3, 5] : []);
  brush.stroke();
  brush.setLineDash([]);
  brush.globalAlpha = 1;
  if (fault === null) return;
  const { at } = pointOn(curve, 0.5);
  if (fault.cut) drawCut(brush, at, palette);
  else drawTag(brush, at, describeFault(fault), palette);
}

function drawCut(brush: Brush, { x, y }: Point, { colors }: Palette): void {
  brush.beginPath();
  brush.arc(x, y, 8, 0, 2 * Math.PI);
  brush.fillStyle = colors['bad-soft'];
  brush.fill();
  brush.strokeStyle = colors.bad;
  brush.lineWidth = 1.6;
  brush.lineCap = 'round';
  brush.beginPath();
  brush.moveTo(x - 2.8, y - 2.8);
  brush.lineTo(x + 2.8, y + 2.8);
  brush.moveTo(x + 2.8, y - 2.8);
  brush.lineTo(x - 2.8, y + 2.8);
  brush.stroke();
}

function drawTag(brush: Brush, { x, y }: Point, text: string, { colors, sans }: Palette): void {
  brush.font = `600 10.5px ${sans}`;
  const width = brush.measureText(text).width + 12;
  brush.fillStyle = colors['warn-soft'];
  round(brush, x - width / 2, y - 9, width, 18, 9);
  brush.fill();
  brush.fillStyle = colors.warn;
  brush.textAlign = 'center';
  brush.fillText(text, x, y + 3.8);
}

/** A copy of a whole PostgreSQL is no message, but a stream of pages. */
function drawCopy(brush: Brush, scene: Scene, { colors }: Palette, look: Look): void {
  const from = scene.places.nodes.get(look.copiesFrom!);
  const to = scene.places.nodes.get(look.id);
  if (from === undefined || to === undefined) return;
  const curve = curveOf(from, to, scene.places.radius);
  brush.fillStyle = colors['text-2'];
  for (let index = 0; index < 7; index += 1) {
    const { at, heading } = pointOn(curve, (index + scene.phase) / 7);
    brush.save();
    brush.translate(at.x, at.y);
    brush.rotate(heading);
    brush.fillRect(-4, -3, 8, 6);
    brush.restore();
  }
}

function drawReplica(brush: Brush, scene: Scene, palette: Palette, look: Look): void {
  const at = scene.places.nodes.get(look.id);
  if (at === undefined) return;
  const { colors, scheme } = palette;
  const { radius } = scene.places;
  const isUp = look.liveness === 'up';
  const color = look.ballot === null ? colors['line-strong'] : ballotColor(look.ballot, scheme);
  const isFilled = look.isLeading && isUp;
  if (scene.selected.replica === look.id || scene.hovered.replica === look.id) {
    brush.beginPath();
    brush.arc(at.x, at.y, radius + 9, 0, 2 * Math.PI);
    brush.fillStyle = colors['surface-3'];
    brush.fill();
  }
  brush.beginPath();
  brush.arc(at.x, at.y, radius, 0, 2 * Math.PI);
  brush.fillStyle = isFilled ? color : look.liveness === 'down' ? colors.bg : colors.surface;
  brush.fill();
  // Who does not count has a thin rim.
  brush.lineWidth = look.counts ? Math.max(3, radius / 10) : 1.5;
  brush.strokeStyle = color;
  brush.globalAlpha = look.liveness === 'down' ? 0.45 : look.liveness === 'silent' ? 0.7 : 1;
  brush.setLineDash(look.liveness === 'down' ? [3, 8] : look.liveness === 'silent' ? [10, 6] : []);
  brush.lineCap = 'round';
  brush.beginPath();
  brush.arc(at.x, at.y, radius - brush.lineWidth / 2, 0, 2 * Math.PI);
  brush.stroke();
  brush.setLineDash([]);
  brush.globalAlpha = 1;
  drawName(brush, at, { look, radius, palette, isFilled });
  drawDatabase(brush, at, { look, radius, palette });
  drawCaption(brush, at, { scene, look, palette });
}

interface NameOptions {
  readonly look: Look;
  readonly radius: number;
  readonly palette: Palette;
  readonly isFilled: boolean;
}

function drawName(brush: Brush, at: Point, { look, radius, palette, isFilled }: NameOptions): void {
  const { colors, mono, scheme } = palette;
  const ink = isFilled ? onBallot(scheme) : look.liveness === 'up' ? colors.text : colors['text-3'];
  brush.fillStyle = ink;
  brush.strokeStyle = ink;
  brush.textAlign = 'center';
  brush.textBaseline = 'middle';
  brush.font = `600 ${Math.round(radius * 0.48)}px ${mono}`;
  const isMarked = isFilled || look.liveness === 'asleep';
  brush.fillText(look.id, at.x, at.y + (isMarked ? radius * 0.14 : 0));
  brush.textBaseline = 'alphabetic';
  const top = at.y - radius * 0.42;
  brush.lineWidth = Math.max(1.4, radius / 26);
  brush.lineJoin = 'round';
  brush.beginPath();
  if (isFilled) {
    const unit = radius / 30;
    brush.moveTo(at.x - 6 * unit, top + 4 * unit);
    for (const [x, y] of [
      [-7, -4],
      [-3, -0.5],
      [0, -6],
      [3, -0.5],
      [7, -4],
      [6, 4],
    ] as const)
      brush.lineTo(at.x + x * unit, top + y * unit);
    brush.closePath();
  } else if (look.liveness === 'asleep') {
    for (const x of [-0.09, 0.09]) {
      brush.moveTo(at.x + x * radius, top - radius * 0.14);
      brush.lineTo(at.x + x * radius, top + radius * 0.12);
    }
  }
  brush.stroke();
}

interface DatabaseOptions {
  readonly look: Look;
  readonly radius: number;
  readonly palette: Palette;
}

/** Its PostgreSQL: a drum on the rim of its disc. */
function drawDatabase(brush: Brush, at: Point, { look, radius, palette: { colors } }: DatabaseOptions): void {
  const size = Math.max(8, radius * 0.26);
  const x = at.x + radius * 0.76;
  const y = at.y + radius * 0.7;
  const tones = { up: colors.good, busy: colors.warn, down: colors.bad, unknown: colors['text-3'] } as const;
  brush.beginPath();
  brush.arc(x, y, size * 1.18, 0, 2 * Math.PI);
  brush.fillStyle = colors.surface;
  brush.fill();
  brush.strokeStyle = look.liveness === 'down' ? colors['text-3'] : tones[look.database];
  brush.fillStyle = brush.strokeStyle;
  brush.lineWidth = 1.5;
  brush.lineCap = 'round';
  const [wide, high] = [size * 0.62, size * 0.58];
  brush.beginPath();
  brush.ellipse(x, y - high, wide, size * 0.24, 0, 0, 2 * Math.PI);
  brush.moveTo(x - wide, y - high);
  brush.lineTo(x - wide, y + high);
  brush.ellipse(x, y + high, wide, size * 0.24, 0, Math.PI, 0, true);
  brush.lineTo(x + wide, y - high);
  brush.stroke();
  if (look.database !== 'down') return;
  brush.beginPath();
  brush.moveTo(x - size * 0.8, y + size * 0.8);
  brush.lineTo(x + size * 0.8, y - size * 0.8);
  brush.stroke();
}

interface CaptionOptions {
  readonly scene: Scene;
  readonly look: Look;
  readonly palette: Palette;
}

/** Older words than this are said to be old. */
const oldMs = 1_000;

function drawCaption(brush: Brush, at: Point, { scene, look, palette }: CaptionOptions): void {
  const { colors, sans, scheme } = palette;
  const ageMs = look.ageMs === null ? null : look.ageMs + scene.sinceMs;
  const isOld = look.liveness !== 'up' || (ageMs !== null && ageMs > oldMs);
  const age = ageMs !== null && isOld ? ` · ${spellAge(ageMs)} ago` : '';
  const top = at.y + scene.places.radius + 18;
  brush.textAlign = 'center';
  brush.lineJoin = 'round';
  brush.strokeStyle = colors.bg;
  brush.lineWidth = 5;
  const line = ` ${look.slotText}${age}`;
  brush.font = `600 12px ${sans}`;
  const first = brush.measureText(look.ballotText).width;
  brush.font = `400 12px ${sans}`;
  const whole = first + brush.measureText(line).width + 4;
  // Messages fly behind it, not through it.
  const wide = Math.max(116, whole + 12);
  // At the stage's edge it stands aside rather than being cut.
  const middle = Math.max(wide / 2, Math.min(scene.size.width - wide / 2, at.x));
  brush.fillStyle = colors.bg;
  brush.globalAlpha = 0.82;
  round(brush, middle - wide / 2, top - 13, wide, 52, 8);
  brush.fill();
  brush.globalAlpha = 1;
  const isBad = look.liveness === 'down' || look.liveness === 'silent';
  const write = (text: string, y: number, font: string, color: string): void => {
    brush.font = font;
    brush.strokeText(text, middle, y);
    brush.fillStyle = color;
    brush.fillText(text, middle, y);
  };
  write(look.roleText, top, `600 13px ${sans}`, isBad ? colors.bad : colors.text);
  const ballot = look.ballot === null ? colors['text-3'] : ballotColor(look.ballot, scheme);
  brush.textAlign = 'left';
  const left = middle - whole / 2;
  const pen = (text: string, x: number, font: string, color: string): void => {
    brush.font = font;
    brush.strokeText(text, x, top + 17);
    brush.fillStyle = color;
    brush.fillText(text, x, top + 17);
  };
  pen(look.ballotText, left, `600 12px ${sans}`, ballot);
  pen(line, left + first + 4, `400 12px ${sans}`, colors['text-2']);
  brush.textAlign = 'center';
  write(
    look.databaseText,
    top + 33,
    `400 11px ${sans}`,
    look.database === 'down' && look.liveness === 'up' ? colors.bad : colors['text-3'],
  );
}

export function spellAge(ms: number): string {
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

function drawHand(brush: Brush, { line, size }: Scene, { colors }: Palette): void {
  if (line === null) return;
  const length = Math.hypot(line.to.x - line.from.x, line.to.y - line.from.y) || 1;
  const far = size.width + size.height;
  const [dx, dy] = [(line.to.x - line.from.x) / length, (line.to.y - line.from.y) / length];
  brush.strokeStyle = colors.bad;
  brush.lineCap = 'round';
  brush.lineWidth = 1;
  brush.setLineDash([2, 8]);
  brush.beginPath();
  brush.moveTo(line.from.x - dx * far, line.from.y - dy * far);
  brush.lineTo(line.to.x + dx * far, line.to.y + dy * far);
  brush.stroke();
  brush.setLineDash([]);
  brush.lineWidth = 2.5;
  brush.beginPath();
  brush.moveTo(line.from.x, line.from.y);
  brush.lineTo(line.to.x, line.to.y);
  brush.stroke();
}

function round(brush: Brush, x: number, y: number, width: number, height: number, radius: number): void {
  brush.beginPath();
  brush.roundRect(x, y, width, height, radius);
}

function isSame(one: Ends | null, other: Ends): boolean {
  return one !== null && one.from === other.from && one.to === other.to;
}
