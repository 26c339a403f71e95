/** Starts the page: opens the store on the server that served it, and hands it to React. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { openStore } from './live/store.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/components.css';

const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
const store = openStore(`${scheme}//${location.host}/api/stream`);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App store={store} />
  </StrictMode>,
);
