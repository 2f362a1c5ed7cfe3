output "engine" {
  description = "The value of SHORTLOOP_ENGINE."
  value       = "dask:tls://${hcloud_server.scheduler.ipv4_address}:${var.port}"
}

output "scheduler" {
  description = "The server of the scheduler, by way of which the workers are reached."
  value       = "root@${hcloud_server.scheduler.ipv4_address}"
}

output "scheduler_hosts" {
  description = "The addresses of the scheduler, to name to certificates.sh."
  value       = join(" ", [hcloud_server.scheduler.ipv4_address, local.scheduler_address])
}

output "worker_hosts" {
  description = "The addresses of the workers, to name to certificates.sh."
  value       = join(" ", local.worker_addresses)
}

output "copy_to" {
  description = "Where the project's folder goes, for rsync."
  value       = "root@${hcloud_server.scheduler.ipv4_address}:${var.folder}/"
}
