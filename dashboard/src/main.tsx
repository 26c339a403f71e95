/** Starts the page: opens the store on the server that served it, and hands it to React. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyTheme, storedTheme } from './components/hooks.ts';
import { liveSource } from './live/live-source.ts';
import { openRun } from './run/run-store.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';

// Before anything is drawn, so that a chosen theme does not flash. (Not inline in the page: its content policy allows no inline script.)
applyTheme(storedTheme());

const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
const store = openRun(liveSource(`${scheme}//${location.host}/api/stream`));

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App store={store} />
  </StrictMode>,
);
