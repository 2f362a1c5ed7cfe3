# What the servers do when they start for the first time.
locals {
  network           = "10.0.1.0/24"
  scheduler_address = cidrhost(local.network, 2)
  worker_addresses  = [for number in range(var.workers) : cidrhost(local.network, 10 + number)]

  common = {
    compose   = base64encode(file("${path.module}/../compose.dask.yaml"))
    settings  = base64encode(file("${path.module}/../dask.yaml"))
    image     = var.image
    folder    = var.folder
    port      = var.port
    network   = local.network
    scheduler = local.scheduler_address
    registry  = var.registry == "" ? "" : base64encode(var.registry)
  }

  scheduler_start = templatefile("${path.module}/start.yaml", merge(local.common, { service = "scheduler" }))
  worker_start    = templatefile("${path.module}/start.yaml", merge(local.common, { service = "worker" }))
}
