// The heat-map: every GPU of the cluster as a cell on one canvas, with a table as an alternative.
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { useLocation, Link } from 'wouter';
import { refresh, useQuery } from '../api/query';
import type { Job, NodeBrief } from '../api/types';
import { Empty, Skeleton, Table } from '../elements/elements';
import { count } from '../elements/format';
import { IDLE_PERCENT, MEASURED_EVERY_MS } from '../jobs/use';
import { onColours, token } from '../frame/mode';
import {
  BY,
  foreignText,
  groupOf,
  healthTone,
  holdersOf,
  strangersOf,
  takenTone,
  tip,
  tones,
  unheldTone,
  useTone,
  wordOf,
  type By,
} from './heat_colour';
import { Finder, layOut, type Layout } from './heat_layout';

export const MEASURED = 'measured'; // the topic of what nodes measure, which appears in no record
const TALL = 560;
const LEGENDS: Partial<Record<By, [string, string][]>> = {
  taken: [
    ['free', 'Free'],
    ['part', 'Partly taken'],
    ['full', 'Taken'],
  ],
  use: [
    ['free', 'Free'],
    ['hold', `Held, under ${IDLE_PERCENT} % busy`],
    ['part', 'Under 50 %'],
    ['full', '50 % and more'],
    ['none', 'Not measured'],
  ],
  health: [
    ['good', 'Ready'],
    ['busy', 'In test'],
    ['hold', 'Drained or suspect'],
    ['bad', 'Broken, silent or lost'],
  ],
};
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

// #2f5bd7 as a pixel of ImageData.
function pixel(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

function paint(canvas: HTMLCanvasElement, layout: Layout, toneOf: (index: number) => string) {
  const scale = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(layout.width * scale));
  canvas.height = Math.max(1, Math.round(layout.height * scale));
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = new Map<string, number>();
  layout.cells.forEach((cell, index) => {
    const tone = toneOf(index);
    let colour = colours.get(tone);
    if (colour === undefined) colours.set(tone, (colour = pixel(token(`--heat-${tone}`))));
    const [left, right] = [Math.round(cell.x * scale), Math.round((cell.x + layout.cell) * scale) - 1];
    const bottom = Math.round((cell.y + layout.cell) * scale) - 1;
    for (let y = Math.round(cell.y * scale); y < bottom; y++)
      pixels.fill(colour, y * canvas.width + left, y * canvas.width + right);
  });
  context.putImageData(image, 0, 0);
  context.scale(scale, scale);
  context.font = `11px ${token('--sans')}`;
  context.fillStyle = token('--muted');
  for (const box of layout.boxes) context.fillText(box.group, box.x, box.y + 12, box.width);
}

function mark(canvas: HTMLCanvasElement, layout: Layout, index: number | undefined) {
  canvas.width = layout.width;
  canvas.height = Math.max(1, layout.height);
  if (index === undefined) return;
  const cell = layout.cells[index];
  if (!cell) return;
  const context = canvas.getContext('2d')!;
  context.strokeStyle = token('--text');
  context.lineWidth = 2;
  context.strokeRect(cell.x - 0.5, cell.y - 0.5, layout.cell, layout.cell);
}

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    setWidth(Math.floor(box.current!.clientWidth)); // known at once, the first drawing need not wait
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, [box]);
  return width;
}

function HeatTable({ nodes }: { nodes: NodeBrief[] }) {
  return (
    <Table
      label="GPUs by node"
      head={['Rack', 'Node', 'State', 'GPUs', 'Wholly free', 'Jobs'].map((name) => (
        <th key={name}>{name}</th>
      ))}
    >
      {nodes.slice(0, 2000).map((node) => (
        <tr key={node.name}>
          <td>{groupOf(node)}</td>
          <td>
            <Link href={`/nodes/${encodeURIComponent(node.name)}`}>{node.name}</Link>
          </td>
          <td>{node.state}</td>
          <td>{node.devices_free_milli.length}</td>
          <td>{node.devices_free_milli.filter((free) => free >= 1000).length}</td>
          <td>
            {node.jobs.slice(0, 8).map((id) => (
              <Link key={id} href={`/jobs/${id}`}>
                {id}{' '}
              </Link>
            ))}
            {node.foreign?.slice(0, 8).map(foreignText).join(', ')}
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface Canvas {
  layout: Layout;
  toneOf: (index: number) => string;
  tipOf: (index: number) => string;
  pathOf: (index: number) => string;
}

function HeatCanvas({ layout, toneOf, tipOf, pathOf }: Canvas) {
  const [, go] = useLocation();
  const cells = useRef<HTMLCanvasElement>(null);
  const cursor = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<number>();
  const finder = useRef<Finder>(null);
  const finderHere = () => {
    if (finder.current?.layout !== layout) finder.current = new Finder(layout);
    return finder.current;
  };
  useLayoutEffect(() => {
    const draw = () => paint(cells.current!, layout, toneOf);
    draw();
    return onColours(draw);
  }, [layout, toneOf]);
  useLayoutEffect(() => mark(cursor.current!, layout, at), [layout, at]);
  const locate = (event: React.PointerEvent | React.MouseEvent) => {
    const place = event.currentTarget.getBoundingClientRect();
    return finderHere().at(event.clientX - place.left, event.clientY - place.top);
  };
  const press = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow) setAt(at === undefined ? 0 : finderHere().next(at, ...arrow));
    else if (event.key === 'Enter' && at !== undefined) go(pathOf(at));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div
        className="heat"
        role="application"
        aria-label={`${count(layout.cells.length, 'GPU')}: arrow keys go from one to the next, Enter opens it`}
        tabIndex={0}
        onKeyDown={press}
        onPointerMove={(event) => setAt(locate(event))}
        onPointerLeave={() => setAt(undefined)}
        onClick={(event) => {
          const index = locate(event);
          if (index !== undefined) go(pathOf(index));
        }}
        style={{ width: layout.width, height: layout.height }}
      >
        <canvas ref={cells} aria-hidden="true" />
        <canvas ref={cursor} className="heat-cursor" aria-hidden="true" />
      </div>
      <p className="heat-tip" role="status">
        {at !== undefined && layout.cells[at] ? (
          tipOf(at)
        ) : (
          <span className="faint">Point at a GPU to see who holds it; click to open the job or the node.</span>
        )}
      </p>
    </>
  );
}

function Legend({ entries }: { entries: [string, string][] }) {
  return (
    <ul className="legend">
      {entries.slice(0, 12).map(([tone, name]) => (
        <li key={name}>
          <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
            <rect width="10" height="10" className={`heat-${tone}`} />
          </svg>
          {name}
        </li>
      ))}
      {entries.length > 12 && <li className="faint">and {entries.length - 12} more</li>}
    </ul>
  );
}

function Choices({
  by,
  setBy,
  asTable,
  setAsTable,
}: {
  by: By;
  setBy: (by: By) => void;
  asTable: boolean;
  setAsTable: (as: boolean) => void;
}) {
  return (
    <>
      <div className="choice" role="group" aria-label="Coloured by">
        {BY.map((one) => (
          <button key={one.by} aria-pressed={by === one.by} onClick={() => setBy(one.by)}>
            {one.name}
          </button>
        ))}
      </div>
      <button className="toggle" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
        Table
      </button>
    </>
  );
}

export function HeatMap({ nodes }: { nodes: NodeBrief[] | undefined }) {
  const [by, setBy] = useState<By>('taken');
  const [asTable, setAsTable] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const held = by === 'holder' || by === 'queue' || (nodes !== undefined && nodes.length <= 256);
  const { data } = useQuery<{ jobs: Job[] }>(held ? '/v1/jobs?state=active&full=1&limit=10000' : null, ['nodes']);
  useEffect(() => {
    if (by !== 'use') return;
    refresh(MEASURED); // what is shown may be as old as the last change of a node
    const timer = setInterval(() => refresh(MEASURED), MEASURED_EVERY_MS);
    return () => clearInterval(timer);
  }, [by]);
  const holders = useMemo(() => holdersOf(data?.jobs ?? []), [data]);
  const strangers = useMemo(() => strangersOf(nodes ?? []), [nodes]);
  const shown = useMemo(
    () =>
      (nodes ?? []).map((node) => ({
        name: node.name,
        group: groupOf(node),
        gpus: node.devices_free_milli.length,
      })),
    [nodes],
  );
  const layout = useMemo(() => (width > 0 ? layOut(shown, width, TALL) : undefined), [shown, width]);
  const coloured = useMemo(() => {
    const word = wordOf[by === 'queue' ? 'queue' : 'holder'];
    const named = tones([...(data?.jobs ?? []).map(word.ours), ...[...strangers.values()].map(word.foreign)]);
    const toneOf = (index: number): string => {
      const cell = layout!.cells[index]!;
      const node = nodes![cell.node]!;
      if (by === 'taken') return takenTone(node.devices_free_milli[cell.device] ?? 1000);
      if (by === 'use') return useTone(node, cell.device);
      if (by === 'health') return healthTone(node, cell.device);
      const place = `${node.name}/${cell.device}`;
      const holder = holders.get(place);
      if (holder) return named.get(word.ours(holder))!;
      const stranger = strangers.get(place);
      return stranger ? named.get(word.foreign(stranger))! : unheldTone(node, cell.device);
    };
    return {
      toneOf,
      legend: LEGENDS[by] ?? [
        ['free', 'Free'],
        ['none', 'Taken, not known by whom'],
        ...[...named].map(([name, tone]) => [tone, name] as [string, string]),
      ],
    };
  }, [by, data, holders, layout, nodes, strangers]);
  const holderAt = (index: number) => {
    const cell = layout!.cells[index]!;
    const node = nodes![cell.node]!;
    const place = `${node.name}/${cell.device}`;
    return { cell, node, holder: holders.get(place), stranger: strangers.get(place) };
  };
  return (
    <div ref={box} className="heat-box">
      <div className="filters">
        <Choices by={by} setBy={setBy} asTable={asTable} setAsTable={setAsTable} />
        <Legend entries={coloured.legend as [string, string][]} />
      </div>
      {!nodes && <Skeleton lines={5} />}
      {nodes && asTable && <HeatTable nodes={nodes} />}
      {nodes && !asTable && layout && layout.cells.length > 0 && (
        <HeatCanvas
          layout={layout}
          toneOf={coloured.toneOf}
          tipOf={(index) => {
            const { cell, node, holder, stranger } = holderAt(index);
            return tip(node, cell.device, holder, stranger);
          }}
          pathOf={(index) => {
            const { node, holder } = holderAt(index);
            return holder ? `/jobs/${holder.id}` : `/nodes/${encodeURIComponent(node.name)}`;
          }}
        />
      )}
      {nodes && layout && layout.cells.length === 0 && (
        <Empty title="No node has a GPU.">
          <p>Nodes say which devices they have when their agents join.</p>
        </Empty>
      )}
    </div>
  );
}
