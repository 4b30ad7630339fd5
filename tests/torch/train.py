"""A linear model under DistributedDataParallel on CPUs (gloo), found by env://: rank 0 prints the world and the loss."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo", init_method="env://")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
inputs = torch.randn(256, 8)
targets = inputs @ torch.arange(8.0).unsqueeze(1)
data = TensorDataset(inputs, targets)
sampler = DistributedSampler(data, shuffle=True, seed=7)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=16, sampler=sampler):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
loss = torch.nn.functional.mse_loss(model(inputs), targets).detach()
losses = [torch.zeros(()) for _ in range(world)]
dist.all_gather(losses, loss)
places = [None] * world
dist.all_gather_object(places, (rank, int(os.environ["LOCAL_RANK"])))
if rank == 0:
    assert len({round(float(each), 10) for each in losses}) == 1, losses
    print(f"world {world} places {places} loss {float(loss):.6e}", flush=True)
dist.destroy_process_group()
