import { describe, expect, it } from 'vitest';
import { Finder, layOut, type HeatNode } from './heat_layout';

const nodes = (count: number, gpus: number, perRack: number): HeatNode[] =>
  Array.from({ length: count }, (_, at) => ({ name: `node${at}`, group: `rack${Math.floor(at / perRack)}`, gpus }));

describe('layOut', () => {
  it('gives every GPU a place of its own', () => {
    const layout = layOut(nodes(40, 8, 8), 800, 600);
    expect(layout.cells.length).toBe(320);
    expect(layout.boxes.map((box) => box.group)).toEqual(['rack0', 'rack1', 'rack2', 'rack3', 'rack4']);
    const places = new Set(layout.cells.map((cell) => `${cell.x},${cell.y}`));
    expect(places.size).toBe(320);
    for (const cell of layout.cells) {
      expect(cell.x + layout.cell).toBeLessThanOrEqual(800);
      expect(cell.y + layout.cell).toBeLessThanOrEqual(layout.height);
    }
  });
  it('copes with 14 000 GPUs', () => {
    const layout = layOut(nodes(1750, 8, 32), 1100, 700);
    expect(layout.cells.length).toBe(14000);
    expect(layout.cell).toBeGreaterThanOrEqual(4);
    const finder = new Finder(layout);
    for (const index of [0, 777, 13999]) {
      const cell = layout.cells[index]!;
      expect(finder.at(cell.x + 1, cell.y + layout.cell - 1)).toBe(index);
    }
  });
  it('fits a phone and leaves out nodes without GPUs', () => {
    const layout = layOut([...nodes(2, 8, 1), { name: 'cpu', group: 'rack9', gpus: 0 }], 300, 600);
    expect(layout.boxes.length).toBe(2);
    expect(Math.max(...layout.cells.map((cell) => cell.x + layout.cell))).toBeLessThanOrEqual(300);
  });
  it('moves from cell to cell by arrow keys', () => {
    const layout = layOut(nodes(2, 8, 2), 800, 600);
    const finder = new Finder(layout);
    expect(finder.next(0, 1, 0)).toBe(1);
    expect(finder.next(0, 0, 1)).toBe(4);
    expect(finder.next(0, -1, 0)).toBe(0);
    expect(finder.at(-5, -5)).toBeUndefined();
  });
});
