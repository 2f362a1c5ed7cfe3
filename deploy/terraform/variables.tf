variable "driver" {
  description = "From where runs are started, such as [\"198.51.100.7/32\"]. Nobody else reaches the scheduler."
  type        = list(string)

  validation {
    condition = length(var.driver) > 0 && alltrue([
      for each in var.driver : can(cidrhost(each, 0)) && try(tonumber(split("/", each)[1]), 0) >= 16
    ])
    error_message = "Give one or more networks of your own, each with /16 or more, such as 198.51.100.7/32."
  }
}

variable "ssh_public_key" {
  description = "The public key with which you log in, such as the content of ~/.ssh/id_ed25519.pub."
  type        = string
}

variable "image" {
  description = "The image made from deploy/Dockerfile, with the name under which the servers can pull it."
  type        = string
}

variable "registry" {
  description = "A config.json of Docker with a login that may pull the image; empty: anybody may pull it."
  type        = string
  default     = ""
  sensitive   = true
}

variable "disk" {
  description = "GB of the volume for the project's folder, with all results."
  type        = number
  default     = 100

  validation {
    condition     = var.disk >= 10 && var.disk <= 10240 && floor(var.disk) == var.disk
    error_message = "Give a whole number from 10 to 10240."
  }
}

variable "workers" {
  description = "How many servers compute."
  type        = number
  default     = 2

  validation {
    condition     = var.workers >= 1 && var.workers <= 200 && floor(var.workers) == var.workers
    error_message = "Give a whole number from 1 to 200: the network has addresses for so many."
  }
}

variable "worker_type" {
  description = "The type of each server that computes. It has as many workers as cores."
  type        = string
  default     = "ccx33"
}

variable "scheduler_type" {
  description = "The type of the server of the scheduler, which also keeps the project's folder."
  type        = string
  default     = "ccx13"
}

variable "location" {
  description = "Where the servers are."
  type        = string
  default     = "nbg1"
}

variable "network_zone" {
  description = "The zone that the location is in."
  type        = string
  default     = "eu-central"
}

variable "folder" {
  description = "The path of the project's folder: the same on all servers, and where runs are started."
  type        = string
  default     = "/srv/shortloop"

  validation {
    condition     = can(regex("^(/[A-Za-z0-9._-]+)+$", var.folder))
    error_message = "Give a full path of letters, digits, dots and hyphens."
  }
}

variable "port" {
  description = "Where the scheduler listens."
  type        = number
  default     = 8786
}

variable "name" {
  description = "What the names of all parts begin with."
  type        = string
  default     = "shortloop"
}
