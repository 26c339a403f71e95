/** Throughput and latency of the last two minutes, by replica. */
import { memo, useMemo, useState } from 'react';
import type uPlot from 'uplot';
import { Chart } from '../components/chart.tsx';
import { formatMs, formatRate } from '../model/format.ts';
import { Panel } from '../components/panel.tsx';
import { useRun } from '../components/run.tsx';
import { replicaColor } from '../components/replica-name.tsx';
import { Segmented } from '../components/segmented.tsx';
import { type ChartMark, chartMarks } from '../model/chart-marks.ts';
import type { Payload } from '../model/protocol-view.ts';
import { columnsOf } from '../model/rate-series.ts';
import type { RateSeries } from '../model/rate-series.ts';

interface ChartsProps {
  readonly rates: RateSeries;
  readonly ids: readonly string[];
  readonly themeKey: string;
}

/** Renewed with the figures, once a second. */
function useMarks(rates: RateSeries): readonly ChartMark[] {
  const store = useRun();
  return useMemo(() => {
    const { flags } = store.record().tracks;
    return chartMarks({ leaderChanges: rates.leaderChanges, flags }, store.momentMs());
  }, [store, rates]);
}

const throughputs = [
  { value: 'transactionsPerSecond', label: 'Writes' },
  { value: 'readsPerSecond', label: 'Reads' },
  { value: 'appliedPerSecond', label: 'Applied' },
] as const;

export const Throughput = memo(function Throughput({ rates, ids, themeKey }: ChartsProps) {
  const [metric, setMetric] = useState<(typeof throughputs)[number]['value']>('transactionsPerSecond');
  const data = useMemo(() => columnsOf(rates, ids, metric) as uPlot.AlignedData, [rates, ids, metric]);
  const store = useRun();
  const marks = useMarks(rates);
  const lines = ids.map((id) => ({ name: id, color: replicaColor(ids, id), dashed: false }));
  return (
    <Panel
      title="Throughput"
      note={<span className="quiet">per second</span>}
      actions={<Segmented label="What to count" choices={throughputs} value={metric} onChange={setMetric} />}
    >
      <div className="panel-body" data-testid="chart-throughput">
        <Chart
          label="Throughput by replica"
          lines={lines}
          data={data}
          marks={marks}
          onPick={store.standAt}
          format={formatRate}
          themeKey={themeKey}
        />
      </div>
    </Panel>
  );
});

/** Nothing was measured where nothing was chosen, so zeroes are gaps. */
function latencyColumns(rates: RateSeries, ids: readonly string[]): uPlot.AlignedData {
  const [times, ...p50] = columnsOf(rates, ids, 'latencyMsP50');
  const [, ...p99] = columnsOf(rates, ids, 'latencyMsP99');
  const gaps = (column: (number | null)[]): (number | null)[] =>
    column.map((value) => (value === 0 ? null : value));
  return [times, ...ids.flatMap((_, index) => [gaps(p50[index]!), gaps(p99[index]!)])];
}

export const Latency = memo(function Latency({
  rates,
  ids,
  payload,
  themeKey,
}: ChartsProps & { readonly payload: Payload }) {
  const active = useMemo(
    () => ids.filter((id) => rates.samples.some((sample) => (sample.perReplica[id]?.latencyMsP50 ?? 0) > 0)),
    [rates, ids],
  );
  const shown = active.length > 0 ? active : ids.slice(0, 1);
  const shownKey = shown.join();
  const data = useMemo(() => latencyColumns(rates, shownKey.split(',')), [rates, shownKey]);
  const store = useRun();
  const marks = useMarks(rates);
  const lines = shown.flatMap((id) => [
    { name: `${id} p50`, color: replicaColor(ids, id), dashed: false },
    { name: `${id} p99`, color: replicaColor(ids, id), dashed: true },
  ]);
  return (
    <Panel
      title="Latency"
      note={<span className="quiet">until {payload === 'wal' ? 'WAL' : 'an operation'} is chosen</span>}
    >
      <div className="panel-body" data-testid="chart-latency">
        <Chart
          label="Latency by replica"
          lines={lines}
          data={data}
          marks={marks}
          onPick={store.standAt}
          format={formatMs}
          themeKey={themeKey}
        />
      </div>
    </Panel>
  );
});
