// Where each GPU of the cluster is drawn: cells in blocks of nodes, blocks in boxes of racks, boxes in
// rows. Pure; a cluster of 14 000 GPUs takes some milliseconds.
export interface HeatNode {
  name: string;
  group: string; // the unit of the topology that it is shown in
  gpus: number;
}

export interface Cell {
  node: number; // index in the list of nodes
  device: number;
  x: number;
  y: number;
}

export interface Box {
  group: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  cell: number; // the side of a cell
  width: number;
  height: number;
  cells: Cell[];
  boxes: Box[];
}

const LABEL = 18;
const GAP = 3; // between the blocks of nodes
const BOX_GAP = 14;
const MAX_CELL = 22;
const MIN_CELL = 4;

// The blocks of a group are in a grid that is about twice as wide as high.
function gridOf(count: number, blockWidth: number, blockHeight: number, most: number): number {
  const columns = Math.ceil(Math.sqrt((count * 2 * blockHeight) / blockWidth));
  const fitting = Math.max(1, Math.min(columns, count, Math.floor(most / blockWidth)));
  return Math.ceil(count / Math.ceil(count / fitting)); // rows of equal length
}

// A group's box, and how its nodes lie in it.
interface Grid extends Box {
  members: number[];
  columns: number;
  across: number; // cells beside each other in a block
  blockWidth: number;
  blockHeight: number;
}

function arrange(nodes: readonly HeatNode[], groups: Map<string, number[]>, width: number, cell: number): Grid[] {
  const grids: Grid[] = [];
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  for (const [group, members] of groups) {
    const widest = Math.max(...members.map((index) => nodes[index]!.gpus));
    const across = Math.min(4, widest);
    const blockWidth = across * cell + GAP;
    const blockHeight = Math.ceil(widest / across) * cell + GAP;
    const columns = gridOf(members.length, blockWidth, blockHeight, width);
    const boxWidth = Math.max(columns * blockWidth - GAP, 48);
    const boxHeight = LABEL + Math.ceil(members.length / columns) * blockHeight - GAP;
    if (x > 0 && x + boxWidth > width) {
      x = 0;
      y += rowHeight + BOX_GAP;
      rowHeight = 0;
    }
    grids.push({ group, x, y, width: boxWidth, height: boxHeight, members, columns, across, blockWidth, blockHeight });
    x += boxWidth + BOX_GAP;
    rowHeight = Math.max(rowHeight, boxHeight);
  }
  return grids;
}

const heightOf = (grids: readonly Grid[]) => grids.reduce((most, grid) => Math.max(most, grid.y + grid.height), 0);

function cellsOf(nodes: readonly HeatNode[], grids: readonly Grid[], side: number): Cell[] {
  const cells: Cell[] = [];
  for (const { x, y, members, columns, across, blockWidth, blockHeight } of grids) {
    members.forEach((index, at) => {
      const left = x + (at % columns) * blockWidth;
      const top = y + LABEL + Math.floor(at / columns) * blockHeight;
      for (let device = 0; device < nodes[index]!.gpus; device++) {
        cells.push({
          node: index,
          device,
          x: left + (device % across) * side,
          y: top + Math.floor(device / across) * side,
        });
      }
    });
  }
  return cells;
}

// The largest cells with which everything is at most `tall` high, within bounds.
export function layOut(nodes: readonly HeatNode[], width: number, tall: number): Layout {
  const groups = new Map<string, number[]>();
  nodes.forEach((node, index) => {
    if (node.gpus <= 0) return;
    const members = groups.get(node.group);
    if (members) members.push(index);
    else groups.set(node.group, [index]);
  });
  let cell = MAX_CELL;
  let grids = arrange(nodes, groups, width, cell);
  while (heightOf(grids) > tall && cell > MIN_CELL) grids = arrange(nodes, groups, width, --cell);
  const boxes = grids.map(({ group, x, y, width, height }) => ({ group, x, y, width, height }));
  return { cell, width, height: heightOf(grids), cells: cellsOf(nodes, grids, cell), boxes };
}

// The cells by place, so that a pointer finds its cell at once.
export class Finder {
  private readonly places = new Map<number, number>();

  constructor(readonly layout: Layout) {
    layout.cells.forEach((cell, index) => {
      const side = layout.cell;
      for (const x of new Set([Math.floor(cell.x / side), Math.floor((cell.x + side - 1) / side)])) {
        for (const y of new Set([Math.floor(cell.y / side), Math.floor((cell.y + side - 1) / side)])) {
          const key = (x << 16) | y;
          // Cells of two blocks may share a bucket; the first is found by looking at both.
          const before = this.places.get(key);
          this.places.set(key, index);
          if (before !== undefined) this.shared.set(key, [...(this.shared.get(key) ?? []), before]);
        }
      }
    });
  }
  private readonly shared = new Map<number, number[]>();

  at(x: number, y: number): number | undefined {
    const side = this.layout.cell;
    const key = (Math.floor(x / side) << 16) | Math.floor(y / side);
    const first = this.places.get(key);
    if (first === undefined) return undefined;
    return [first, ...(this.shared.get(key) ?? [])].find((index) => {
      const cell = this.layout.cells[index]!;
      return x >= cell.x && x < cell.x + side && y >= cell.y && y < cell.y + side;
    });
  }

  // The nearest cell in a direction of the arrow keys; the same one where there is none.
  next(from: number, dx: number, dy: number): number {
    const here = this.layout.cells[from]!;
    let best = from;
    let bestCost = Infinity;
    this.layout.cells.forEach((cell, index) => {
      const along = (cell.x - here.x) * dx + (cell.y - here.y) * dy;
      if (along <= 0) return;
      const aside = Math.abs((cell.x - here.x) * dy) + Math.abs((cell.y - here.y) * dx);
      const cost = along + 3 * aside;
      if (cost < bestCost) {
        bestCost = cost;
        best = index;
      }
    });
    return best;
  }
}
