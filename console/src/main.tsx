// The console's first code.
import { createRoot } from 'react-dom/client';
import { App } from './app';
import './style/tokens.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/pages.css';

createRoot(document.getElementById('root')!).render(<App />);
