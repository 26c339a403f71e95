/** Charts of figures, as SVG that looks the same in every report. Pure, but for numbers that the drawing counts up. */
import * as echarts from 'echarts';

export interface Chart {
  readonly file: string;
  readonly title: string;
  /** What it shows, in a sentence. */
  readonly says: string;
  readonly svg: string;
}

export type Option = Parameters<ReturnType<typeof echarts.init>['setOption']>[0];

const width = 900;
export const text = { fontFamily: 'system-ui, sans-serif', color: '#2b2f36' } as const;

export const axis = {
  nameLocation: 'middle',
  nameGap: 26,
  nameTextStyle: text,
  axisLabel: { ...text, fontSize: 11 },
  axisLine: { lineStyle: { color: '#9aa1ab' } },
  splitLine: { lineStyle: { color: '#eceef1' } },
} as const;

const charWidth = 7.2;

/** Wide enough for labels in any font: where this is run, nobody knows in which one it is shown. */
export function frame(names: readonly string[], labels: readonly string[]): Option {
  const longest = Math.max(...labels.map(({ length }) => length));
  return {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: text,
    legend: {
      top: 8,
      left: 8,
      width: width - 16,
      data: [...names],
      itemGap: 24,
      itemWidth: 14,
      itemHeight: 10,
      textStyle: { ...text, fontSize: 11 },
    },
    grid: { left: 24 + longest * charWidth, right: 48, top: 64, bottom: 48 },
  };
}

export function render(option: Option, height: number): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

export interface Bars {
  readonly file: string;
  readonly title: string;
  readonly says: string;
  readonly unit: string;
  readonly labels: readonly string[];
  /** A value for each label; null: it was not measured. */
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

const shades = ['#8a4b2a', '#d9a441', '#4f7fb5', '#4e9a77'] as const;

export function barChart({ file, title, says, unit, labels, series }: Bars): Chart {
  const option: Option = {
    ...frame(
      series.map(({ name }) => name),
      labels,
    ),
    xAxis: { type: 'value', min: 0, name: unit, ...axis },
    yAxis: { type: 'category', inverse: true, data: [...labels], ...axis },
    series: series.map(({ name, values }, index) => ({
      type: 'bar',
      name,
      itemStyle: { color: shades[index % shades.length]! },
      data: values.map((value) => (value === null ? null : Math.round(value * 10) / 10)),
      label: { show: true, position: 'right', fontSize: 10 },
    })),
  };
  return { file, title, says, svg: render(option, 120 + 18 * labels.length * (series.length + 0.6)) };
}

export interface Lines {
  readonly file: string;
  readonly title: string;
  readonly says: string;
  /** What the axes show, with units. */
  readonly x: string;
  readonly y: string;
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, number])[];
  }[];
}

const linesHeight = 320;

/** From 0 on, so that what is flat looks flat. */
export function lineChart({ file, title, says, x, y, series }: Lines): Chart {
  const option: Option = {
    ...frame(
      series.map(({ name }) => name),
      [y, '0000'],
    ),
    xAxis: { type: 'value', min: 0, name: x, ...axis },
    yAxis: { type: 'value', min: 0, name: y, ...axis, nameGap: 40 },
    series: series.map(({ name, points }, index) => ({
      type: 'line',
      name,
      showSymbol: false,
      lineStyle: { color: shades[index % shades.length]!, width: 2 },
      itemStyle: { color: shades[index % shades.length]! },
      data: points.map(([at, value]) => [at, Math.round(value * 10) / 10]),
    })),
  };
  return { file, title, says, svg: render(option, linesHeight) };
}
