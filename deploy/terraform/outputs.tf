output "engine" {
  description = "The value of SHORTLOOP_ENGINE."
  value       = "dask:tls://${hcloud_server.scheduler.ipv4_address}:${var.port}"
}

output "certificate_hosts" {
  description = "The hosts to name to certificates.sh."
  value       = join(" ", [hcloud_server.scheduler.ipv4_address, local.scheduler_address])
}

output "copy_to" {
  description = "Where the project's folder goes, for rsync."
  value       = "root@${hcloud_server.scheduler.ipv4_address}:${var.folder}/"
}
