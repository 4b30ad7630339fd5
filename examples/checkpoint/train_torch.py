#!/usr/bin/env python3
"""The same with PyTorch, on a GPU if the job has one. It needs torch, which Dovetail does not bring.

    dove submit --gpus 1 --preempt checkpoint --signal=USR1@60 -- python3 train_torch.py
"""
import argparse
import sys

from dove import checkpoint, progress

try:
    import torch
except ImportError:
    sys.exit("torch is not installed where this job runs: give the job an image or an environment that has it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every-s", type=float, default=60, help="seconds between checkpoints")
    options = parser.parse_args()

    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.randn(4096, 64, device=device)
    targets = (inputs @ torch.randn(64, device=device) > 0).float()
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    first = 0
    saved = checkpoint.latest()
    if saved:
        work = torch.load(saved.path(), map_location=device, weights_only=True)
        model.load_state_dict(work["model"])
        optimizer.load_state_dict(work["optimizer"])
        first = saved.step + 1
        print(f"goes on after step {saved.step}", flush=True)

    loss = None
    for step in range(first, options.steps):
        rows = torch.randint(0, len(inputs), (256,), device=device)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(inputs[rows]).squeeze(1), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.step(step, samples=len(rows), loss=loss.item(), phase="train")
        if checkpoint.due(options.every_s):
            work = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            checkpoint.save(step, lambda file, work=work: torch.save(work, file))
            if checkpoint.asked():
                checkpoint.wait()
                return
    checkpoint.wait()
    print(f"loss {loss.item():.4f}" if loss is not None else "nothing was left to do", flush=True)


main()
