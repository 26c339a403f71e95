/** The page: takes the run's store, shows one of its views, and owns what they share. */
import { lazy, Suspense, useCallback, useState } from 'react';
import { useSystemDark, useTheme } from './components/hooks.ts';
import { RunProvider, useSelected } from './components/run.tsx';
import { ServerAway } from './components/server-away.tsx';
import { ToastsOver, useToasts } from './components/toasts.tsx';
import { ActQuestionDialog } from './components/act-question.tsx';
import { useActs } from './components/use-acts.ts';
import { useKeys } from './components/use-keys.ts';
import { PresentingProvider, usePresenter } from './components/use-presenter.ts';
import { addressWith, useView } from './components/use-view.ts';
import { findLeader } from './model/cluster-view.ts';
import type { RunStore } from './run/run-store.ts';
import { addressOfPlace } from './spec/spec-address.ts';
import { AskedBanner } from './views/asked-banner.tsx';
import { Banner, CheckBanner } from './views/banner.tsx';
import { LabView } from './views/lab/lab-view.tsx';
import { OperatorView } from './views/operator-view.tsx';
import { CaptionLine } from './views/present/caption-line.tsx';
import { KeyHelp } from './views/present/key-help.tsx';
import { PastNotice } from './views/past-notice.tsx';
import { TopBar } from './views/top-bar.tsx';
import './app.css';

const CompareView = lazy(async () => ({
  default: (await import('./views/compare/compare-view.tsx')).CompareView,
}));
/** With the specifications and their counterexamples: only for those who look at them. */
const SpecView = lazy(() => import('./views/spec/spec-view.tsx'));

const pageClasses = { lab: 'lab-page', compare: 'lab-page', spec: 'spec-page', operator: 'page' } as const;

/** Why nothing can be asked of the replicas now; null: it can. */
function whyAway(store: RunStore, isLost: boolean, isPast: boolean): string | null {
  if (store.source.requests === null) return 'This run has nobody who could be asked';
  if (isLost) return 'The server does not answer';
  return isPast ? 'This is the past: go back to now to change anything' : null;
}

export function App({ store }: { readonly store: RunStore }) {
  const cluster = useSelected(store, (view) => view.state.cluster);
  const connection = useSelected(store, (view) => view.state.connection);
  const rates = useSelected(store, (view) => view.state.rates);
  const isPast = useSelected(store, (view) => view.playhead.mode !== 'following');
  const [theme, setTheme] = useTheme();
  const systemDark = useSystemDark();
  const [view, setView] = useView();
  const [toasts, showToast] = useToasts();
  const isLost = connection.kind === 'lost';
  const acts = useActs(store, isLost, showToast);
  const onTrouble = useCallback((message: string) => showToast('bad', message), [showToast]);
  const checkRun = useCallback(() => {
    location.hash = addressOfPlace(addressWith(location.hash, 'spec'), {
      mode: 'run',
      model: null,
      step: 0,
      walk: [],
    });
  }, []);
  const leader = findLeader(cluster)?.id ?? null;
  const themeKey = `${theme} ${systemDark}`;
  const presenter = usePresenter();
  const [isHelpOpen, setHelpOpen] = useState(false);
  // The others have no stage.
  const isPresenting = presenter.isOn && (view === 'lab' || view === 'compare');
  const presenting = { ...presenter, isOn: isPresenting };
  const help = (): void => setHelpOpen(true);
  useKeys({
    '1': () => setView('lab'),
    '2': () => setView('compare'),
    '3': () => setView('spec'),
    '4': () => setView('operator'),
    p: presenter.toggle,
    Escape: presenter.leave,
    '?': help,
    'Shift+?': help,
  });
  const banners = (
    <>
      <CheckBanner check={cluster?.check ?? null} />
      <Banner connection={connection} cluster={cluster} leader={leader} onRetry={store.retryNow} />
    </>
  );
  return (
    <RunProvider value={store}>
      <ServerAway value={whyAway(store, isLost, isPast)}>
        <PresentingProvider value={presenting}>
          <div
            className={`app app-${view}${isPast ? ' past-shown' : ''}${isPresenting ? ' app-presenting' : ''}`}
          >
            {isPresenting ? (
              view === 'lab' ? (
                <CaptionLine />
              ) : null
            ) : (
              <TopBar
                cluster={cluster}
                connection={connection}
                leader={leader}
                rates={rates}
                theme={theme}
                onTheme={setTheme}
                view={view}
                onView={setView}
                source={store.source}
                onFault={acts.onFault}
                onPresent={presenter.toggle}
                onHelp={help}
              />
            )}
            <AskedBanner />
            {view === 'operator' ? <PastNotice /> : null}
            <main className={pageClasses[view]} data-offline={isLost}>
              {view === 'compare' ? null : banners}
              {view === 'compare' ? (
                <Suspense fallback={null}>
                  <CompareView themeKey={themeKey} showToast={showToast} />
                </Suspense>
              ) : view === 'spec' ? (
                <Suspense fallback={<p className="empty">The specifications are loaded…</p>}>
                  <SpecView onLab={() => setView('lab')} />
                </Suspense>
              ) : cluster === null ? (
                <Waiting lost={isLost} />
              ) : view === 'lab' ? (
                <LabView
                  cluster={cluster}
                  leader={leader}
                  themeKey={themeKey}
                  acts={acts}
                  onTrouble={onTrouble}
                  onCheck={checkRun}
                />
              ) : (
                <OperatorView cluster={cluster} themeKey={themeKey} onFault={acts.onFault} />
              )}
            </main>
          </div>
        </PresentingProvider>
        <ActQuestionDialog question={acts.question} />
        <KeyHelp isOpen={isHelpOpen} onOpenChange={setHelpOpen} />
        <ToastsOver queue={toasts} />
      </ServerAway>
    </RunProvider>
  );
}

function Waiting({ lost }: { readonly lost: boolean }) {
  return (
    <section className="waiting" aria-label="Waiting for the cluster" data-testid="waiting">
      <svg viewBox="0 0 120 96" width="120" height="96" aria-hidden="true">
        <path d="M28 40h52v22a22 22 0 0 1-22 22h-8a22 22 0 0 1-22-22zM80 46h8a11 11 0 0 1 0 22h-9M20 92h68" />
        {lost ? null : (
          <path className="waiting-steam" d="M42 30c-4-6 4-8 0-15M54 30c-4-6 4-8 0-15M66 30c-4-6 4-8 0-15" />
        )}
      </svg>
      <h2>{lost ? 'No cluster to show' : 'Waiting for the cluster'}</h2>
      <p className="quiet">
        Start one with <code className="mono">npm start</code>. The page connects by itself.
      </p>
    </section>
  );
}
