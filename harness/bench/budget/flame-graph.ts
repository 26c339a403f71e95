/**
 * A profile as a picture: each function a bar as wide as the time in it, above whoever called it; coloured by stage.
 *
 * Pure: SVG as text. What is narrower than half a unit is left out.
 */
import type { Frame } from './cpu-profile.ts';
import { stages, type Stage } from './stages.ts';

const width = 1200;
const barHeight = 17;
const characterWidth = 6.3;
const legendHeight = 44;
const narrowest = 0.5;

const colours: Readonly<Record<Stage, string>> = {
  gateway: '#7fb3d5',
  wal: '#f0b27a',
  ship: '#f7dc6f',
  consensus: '#82c99d',
  peers: '#c39bd3',
  log: '#e59a92',
  feed: '#aeb6bf',
  answers: '#76d7c4',
  other: '#d5d8dc',
  garbage: '#d98880',
  system: '#e8e8e8',
};

export function flameGraph(title: string, root: Frame): string {
  const bars: string[] = [];
  const depth = depthOf(root);
  const height = legendHeight + (depth + 1) * barHeight + 8;
  draw(root, { x: 0, level: 0, scale: width / Math.max(1, root.us), total: root.us, bars, height });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, monospace" font-size="10.5">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<text x="6" y="15" font-size="13" font-weight="bold">${escaped(title)}</text>`,
    legend(),
    ...bars,
    '</svg>\n',
  ].join('\n');
}

interface Pen {
  readonly x: number;
  readonly level: number;
  /** Units for a microsecond. */
  readonly scale: number;
  readonly total: number;
  readonly bars: string[];
  readonly height: number;
}

function draw(frame: Frame, pen: Pen): void {
  const { level, scale, total, bars, height } = pen;
  const barWidth = frame.us * scale;
  if (barWidth < narrowest) return;
  const y = height - (level + 1) * barHeight - 4;
  const share = ((100 * frame.us) / total).toFixed(1);
  const room = Math.floor((barWidth - 6) / characterWidth);
  const text = room < 3 ? '' : frame.name.length > room ? `${frame.name.slice(0, room - 1)}…` : frame.name;
  const at = pen.x.toFixed(1);
  bars.push(
    `<g><title>${escaped(frame.name)}: ${share} % (${escaped(stages[frame.stage])})</title>` +
      `<rect x="${at}" y="${y}" width="${barWidth.toFixed(1)}" height="${barHeight - 1}" fill="${colours[frame.stage]}"/>` +
      (text === '' ? '' : `<text x="${(pen.x + 3).toFixed(1)}" y="${y + 12}">${escaped(text)}</text>`) +
      '</g>',
  );
  let { x } = pen;
  const callees = [...frame.callees.values()].toSorted((a, b) => b.us - a.us);
  for (const callee of callees) {
    draw(callee, { ...pen, x, level: level + 1 });
    x += callee.us * scale;
  }
}

function depthOf(frame: Frame): number {
  let deepest = 0;
  for (const callee of frame.callees.values()) deepest = Math.max(deepest, 1 + depthOf(callee));
  return deepest;
}

function legend(): string {
  let x = 6;
  return Object.entries(colours)
    .map(([stage, colour]) => {
      const text = stage === 'system' ? 'Node.js' : stage;
      const entry = `<rect x="${x}" y="24" width="11" height="11" fill="${colour}" stroke="#bbb"/><text x="${x + 15}" y="33">${text}</text>`;
      x += 30 + text.length * characterWidth;
      return entry;
    })
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
