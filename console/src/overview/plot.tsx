// A small plot of a few series over time.
import { useEffect, useLayoutEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { exact } from '../elements/format';
import { onColours, token } from '../frame/mode';

interface Line {
  name: string;
  colour: string; // a design token
}

// The time of a tick: with its day where days are apart.
function tickTexts(splits: number[]): string[] {
  const apart = splits.length > 1 && splits[1]! - splits[0]! >= 6 * 3600;
  return splits.map((at) => (apart ? exact(at * 1e6).slice(5, 16) : exact(at * 1e6).slice(11, 16)));
}

function optionsOf(width: number, lines: Line[], most: number | undefined): uPlot.Options {
  const axis = {
    stroke: token('--muted'),
    grid: { stroke: token('--line'), width: 1 },
    ticks: { stroke: token('--line'), width: 1 },
    font: `11px ${token('--sans')}`,
  };
  return {
    width,
    height: 180,
    cursor: { y: false },
    legend: { live: true },
    scales: { y: { range: (_plot, _least, highest) => [0, most ?? Math.max(1, highest * 1.1)] } },
    axes: [
      { ...axis, space: 80, values: (_plot, splits) => tickTexts(splits) },
      { ...axis, size: 36 },
    ],
    series: [
      { label: 'Time', value: (_plot, at) => (at === null ? '–' : exact(at * 1e6).slice(0, 16)) },
      ...lines.map((line) => ({
        label: line.name,
        stroke: token(line.colour),
        width: 2,
        fill: `${token(line.colour)}22`,
        paths: uPlot.paths.stepped!({ align: 1 }),
      })),
    ],
  };
}

interface PlotProps {
  label: string;
  data: (number | null)[][];
  lines: Line[];
  most?: number; // where the axis ends; else with the highest value
}

export function Plot({ label, data, lines, most }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(data);
  const plot = useRef<uPlot>(null);
  latest.current = data;
  // While the element is surely there: a page that waits for its data again takes it out at once, and what is not
  // a layout effect would hear of another mode meanwhile.
  useLayoutEffect(() => {
    const shown = box.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(shown.clientWidth, lines, most), latest.current as uPlot.AlignedData, shown);
    };
    make();
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: shown.clientWidth, height: 180 }));
    watch.observe(shown);
    const leave = onColours(make);
    return () => {
      leave();
      watch.disconnect();
      plot.current?.destroy();
    };
  }, [lines, most]);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data]);
  return <div ref={box} className="plot" role="img" aria-label={label} />;
}
