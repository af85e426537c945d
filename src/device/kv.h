/* PJRT's key-value callbacks over a device_kv, which is their user_arg and outlives the client. */
#ifndef XT_SRC_DEVICE_KV_H
#define XT_SRC_DEVICE_KV_H

#include "device/device_int.h"

PJRT_Error *device_kv_get(PJRT_KeyValueGetCallback_Args *a);
PJRT_Error *device_kv_try_get(PJRT_KeyValueTryGetCallback_Args *a);
PJRT_Error *device_kv_put(PJRT_KeyValuePutCallback_Args *a);

#endif
