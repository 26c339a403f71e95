/** Starts the page: opens the run that its address names, else that of the server that served it, and hands it to React. The lab's page has no server, and begins with a simulated group. */
import { StrictMode, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { firstRun } from './run/simulated/run-address.ts';
import { App } from './app.tsx';
import { AddressProvider, watchAddress } from './components/address-problem.tsx';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { applyTheme, storedTheme } from './components/hooks.ts';
import { addressWithScenario, scenarioInAddress } from './components/scenario-address.ts';
import { addressWithVariant, variantIn } from './compare/variant-address.ts';
import { addressWith, viewInAddress } from './components/use-view.ts';
import { liveSource } from './live/live-source.ts';
import { openChoice, type RunChoice } from './run/run-choice.ts';
import { startSimulator } from './run/start-simulator.ts';
import { addressOfPlace, readSpecPlace } from './spec/spec-address.ts';
import { ChoiceProvider } from './views/source-menu.tsx';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';

// Before anything is drawn, so that a chosen theme does not flash. (Not inline in the page: its content policy allows no inline script.)
applyTheme(storedTheme());

// Before the address is rewritten as what is shown.
const watch = watchAddress();

const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
const hasServer = import.meta.env.MODE !== 'lab';
const choice = openChoice({
  live: hasServer ? () => liveSource(`${scheme}//${location.host}/api/stream`) : null,
  startSimulator,
  first: firstRun,
  address: {
    read: () => location.hash,
    write: (hash) => {
      const view = viewInAddress();
      const next = hash === '' && view === 'lab' ? '' : addressWith(hash, view);
      const full = addressWithScenario(next, scenarioInAddress());
      const placed = view === 'spec' ? addressOfPlace(full, readSpecPlace(location.hash)) : full;
      const varied = view === 'compare' ? addressWithVariant(placed, variantIn(location.hash)) : placed;
      history.replaceState(null, '', varied === '' ? location.pathname : varied);
    },
    onChange: (listener) => window.addEventListener('hashchange', listener),
  },
});

let shown = 0;
const keys = new WeakMap<object, number>();

/** Another run is another page: what was picked in one means nothing in the other. */
function keyOf(store: object): number {
  const known = keys.get(store) ?? (shown += 1);
  keys.set(store, known);
  return known;
}

function Page({ choice }: { readonly choice: RunChoice }) {
  const store = useSyncExternalStore(choice.subscribe, choice.store);
  return (
    <ChoiceProvider value={choice}>
      <AddressProvider value={watch}>
        <ErrorBoundary key={keyOf(store)}>
          <App store={store} />
        </ErrorBoundary>
      </AddressProvider>
    </ChoiceProvider>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Page choice={choice} />
  </StrictMode>,
);
