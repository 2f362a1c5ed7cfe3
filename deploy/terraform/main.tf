# A scheduler and workers of Dask at Hetzner, on a network of their own. ../README.md says how to use it.
terraform {
  required_version = ">= 1.5"
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.45"
    }
  }
}

# Reads its token from the variable HCLOUD_TOKEN of the shell, so that it is in no file.
provider "hcloud" {}

resource "hcloud_ssh_key" "driver" {
  name       = "${var.name}-driver"
  public_key = var.ssh_public_key
}

resource "hcloud_network" "cluster" {
  name     = var.name
  ip_range = local.network
}

resource "hcloud_network_subnet" "cluster" {
  network_id   = hcloud_network.cluster.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = local.network
}

# Of what comes in from outside; the cluster's own network is not filtered.
resource "hcloud_firewall" "scheduler" {
  name = "${var.name}-scheduler"

  rule {
    description = "runs, from where they are started"
    direction   = "in"
    protocol    = "tcp"
    port        = tostring(var.port)
    source_ips  = var.driver
  }

  rule {
    description = "ssh, from where runs are started"
    direction   = "in"
    protocol    = "tcp"
    port        = "22"
    source_ips  = var.driver
  }
}

# Without rules it lets nobody in. Workers are reached by way of the scheduler: ssh -J root@SCHEDULER root@WORKER.
resource "hcloud_firewall" "worker" {
  name = "${var.name}-worker"
}

resource "hcloud_server" "scheduler" {
  name         = "${var.name}-scheduler"
  server_type  = var.scheduler_type
  image        = "ubuntu-24.04"
  location     = var.location
  ssh_keys     = [hcloud_ssh_key.driver.id]
  firewall_ids = [hcloud_firewall.scheduler.id]
  user_data    = local.scheduler_start

  network {
    # By way of the subnet, as servers cannot be made before it is there.
    network_id = hcloud_network_subnet.cluster.network_id
    ip         = local.scheduler_address
    alias_ips  = []
  }
}

# The project's folder, which the scheduler's server mounts when it starts: see start.yaml.
resource "hcloud_volume" "project" {
  name      = "${var.name}-project"
  size      = var.disk
  format    = "ext4"
  server_id = hcloud_server.scheduler.id
  automount = false
}

resource "hcloud_server" "worker" {
  count        = var.workers
  name         = "${var.name}-worker-${count.index}"
  server_type  = var.worker_type
  image        = "ubuntu-24.04"
  location     = var.location
  ssh_keys     = [hcloud_ssh_key.driver.id]
  firewall_ids = [hcloud_firewall.worker.id]
  user_data    = local.worker_start

  network {
    network_id = hcloud_network_subnet.cluster.network_id
    ip         = local.worker_addresses[count.index]
    alias_ips  = []
  }
}
