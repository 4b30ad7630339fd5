// The bars of the plan on a canvas.
import { useLayoutEffect, useRef, useState } from 'react';
import { useNow } from '../elements/elements';
import { exact } from '../elements/format';
import { onColours, token } from '../frame/mode';
import { ticksOf, windowOf, type Bar } from './gantt';

const ROW = 24;
const HEAD = 26;
const NAMES = 150;

function draw(canvas: HTMLCanvasElement, bars: readonly Bar[], nowUs: number, width: number) {
  const scale = window.devicePixelRatio || 1;
  const height = HEAD + bars.length * ROW + 6;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const names = width < 500 ? 90 : NAMES;
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const [from, to] = windowOf(bars, nowUs);
  const x = (at: number) => names + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - names);
  context.font = `11px ${token('--sans')}`;
  for (const tick of ticksOf(from, to, Math.max(2, (width - names) / 110))) {
    context.fillStyle = token('--line');
    context.fillRect(x(tick), HEAD - 6, 1, height);
    context.fillStyle = token('--muted');
    context.fillText(exact(tick).slice(to - from > 20 * 3600e6 ? 5 : 11, 16), x(tick) + 4, 14);
  }
  bars.forEach((bar, row) => {
    const top = HEAD + row * ROW;
    context.fillStyle = token('--text');
    context.fillText(bar.name, 0, top + 14, names - 8);
    context.fillStyle = token(`--bar-${bar.tone}`);
    const end = bar.to ?? to;
    context.fillRect(x(bar.from), top + 3, Math.max(3, x(end) - x(bar.from)), ROW - 9);
    if (bar.to === null) for (let at = 0; at < 3; at++) context.clearRect(width - 4 - at * 7, top + 3, 3, ROW - 9);
  });
  context.fillStyle = token('--bad');
  context.fillRect(x(nowUs), HEAD - 8, 2, height);
}

export function Gantt({ bars, onOpen }: { bars: Bar[]; onOpen: (bar: Bar) => void }) {
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (width === 0) return;
    const again = () => draw(canvas.current!, bars, now, width);
    again();
    return onColours(again);
  }, [bars, now, width]);
  const open = (event: React.MouseEvent) => {
    const top = event.clientY - event.currentTarget.getBoundingClientRect().top;
    const bar = bars[Math.floor((top - HEAD) / ROW)];
    if (bar) onOpen(bar);
  };
  return (
    <div ref={box} className="gantt" style={{ height: HEAD + bars.length * ROW + 6 }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${bars.length} bars in time; the table below has the same`}
        onClick={open}
      />
    </div>
  );
}
