/* The plugin's one exported symbol and its table: what is served, and what is refused by name.
 *
 * The table is declared as 0.103: from 0.105 on clients expect a vtable in every PJRT_Memory, which nothing here needs. */
#include "pjrt/face.h"

#define SERVED(F)                                                                                                                                    \
    F(Error_Destroy)                                                                                                                                 \
    F(Error_Message) F(Error_GetCode) F(Error_ForEachPayload) F(Plugin_Initialize) F(Plugin_Attributes) F(Event_Destroy) F(Event_IsReady) F(         \
        Event_Error) F(Event_Await) F(Event_OnReady) F(Event_Create) F(Event_Set) F(Client_Create) F(Client_Destroy) F(Client_PlatformName)          \
        F(Client_ProcessIndex) F(Client_PlatformVersion) F(Client_Devices) F(Client_AddressableDevices) F(Client_LookupDevice) F(                    \
            Client_LookupAddressableDevice) F(Client_AddressableMemories) F(Client_Compile) F(Client_DefaultDeviceAssignment)                        \
            F(Client_BufferFromHostBuffer) F(Client_CreateViewOfDeviceBuffer) F(Client_TopologyDescription) F(Client_CreateUninitializedBuffer) F(   \
                Client_UpdateGlobalProcessInfo) F(Client_CreateErrorBuffer) F(Client_Load) F(DeviceDescription_Id) F(DeviceDescription_ProcessIndex) \
                F(DeviceDescription_Attributes) F(DeviceDescription_Kind) F(DeviceDescription_DebugString) F(DeviceDescription_ToString)             \
                    F(Device_GetDescription) F(Device_IsAddressable) F(Device_LocalHardwareId) F(Device_AddressableMemories) F(Device_DefaultMemory) \
                        F(Device_MemoryStats) F(Device_GetAttributes) F(Device_ClearMemoryStats) F(Memory_Id) F(Memory_Kind) F(Memory_Kind_Id) F(    \
                            Memory_DebugString) F(Memory_ToString) F(Memory_AddressableByDevices) F(Executable_Destroy) F(Executable_Name)           \
                            F(Executable_NumReplicas) F(Executable_NumPartitions) F(Executable_NumOutputs) F(Executable_SizeOfGeneratedCodeInBytes)  \
                                F(Executable_GetCostAnalysis) F(Executable_OutputMemoryKinds) F(Executable_OptimizedProgram) F(Executable_Serialize) \
                                    F(Executable_DeserializeAndLoad) F(Executable_OutputElementTypes) F(Executable_OutputDimensions)                 \
                                        F(Executable_Fingerprint) F(Executable_GetCompiledMemoryStats) F(Executable_GetCompileOptions)               \
                                            F(Executable_ParameterMemoryKinds) F(LoadedExecutable_Destroy) F(LoadedExecutable_GetExecutable) F(      \
                                                LoadedExecutable_AddressableDevices) F(LoadedExecutable_Delete) F(LoadedExecutable_IsDeleted)        \
                                                F(LoadedExecutable_Execute) F(LoadedExecutable_Fingerprint) F(LoadedExecutable_GetDeviceAssignment)  \
                                                    F(LoadedExecutable_AddressableDeviceLogicalIds) F(Buffer_Destroy) F(Buffer_ElementType)          \
                                                        F(Buffer_Dimensions) F(Buffer_UnpaddedDimensions) F(Buffer_DynamicDimensionIndices)          \
                                                            F(Buffer_GetMemoryLayout) F(Buffer_OnDeviceSizeInBytes) F(Buffer_Device)                 \
                                                                F(Buffer_Memory) F(Buffer_Delete) F(Buffer_IsDeleted) F(Buffer_CopyToDevice)         \
                                                                    F(Buffer_CopyToMemory) F(Buffer_ToHostBuffer) F(Buffer_CopyRawToHost)            \
                                                                        F(Buffer_IsOnCpu) F(Buffer_ReadyEvent) F(Buffer_UnsafePointer)               \
                                                                            F(Buffer_IncreaseExternalReferenceCount)                                 \
                                                                                F(Buffer_DecreaseExternalReferenceCount)                             \
                                                                                    F(Buffer_OpaqueDeviceMemoryDataPointer)                          \
                                                                                        F(TopologyDescription_Create) F(TopologyDescription_Destroy) \
                                                                                            F(TopologyDescription_PlatformName)                      \
                                                                                                F(TopologyDescription_PlatformVersion)               \
                                                                                                    F(TopologyDescription_GetDeviceDescriptions)     \
                                                                                                        F(TopologyDescription_Serialize)             \
                                                                                                            F(TopologyDescription_Deserialize)       \
                                                                                                                F(TopologyDescription_Attributes) F( \
                                                                                                                    TopologyDescription_Fingerprint) \
                                                                                                                    F(Compile)

/* Host streams, staged transfers, aliases made before their buffer, DMA registration, execution contexts and tracking: neither JAX nor PyTorch/XLA
 * call them on a CPU device, and each error says its name. */
#define REFUSED(F)                                                                                                                                   \
    F(CopyToDeviceStream_Destroy)                                                                                                                    \
    F(CopyToDeviceStream_AddChunk) F(CopyToDeviceStream_TotalBytes) F(CopyToDeviceStream_GranuleSize) F(CopyToDeviceStream_CurrentBytes)             \
        F(ExecuteContext_Create) F(ExecuteContext_Destroy) F(AsyncHostToDeviceTransferManager_Destroy)                                               \
            F(AsyncHostToDeviceTransferManager_TransferData) F(Client_CreateBuffersForAsyncHostToDevice)                                             \
                F(AsyncHostToDeviceTransferManager_RetrieveBuffer) F(AsyncHostToDeviceTransferManager_Device)                                        \
                    F(AsyncHostToDeviceTransferManager_BufferCount) F(AsyncHostToDeviceTransferManager_BufferSize)                                   \
                        F(AsyncHostToDeviceTransferManager_SetBufferError) F(AsyncHostToDeviceTransferManager_AddMetadata) F(Client_DmaMap)          \
                            F(Client_DmaUnmap) F(Client_CreateAliasBuffer) F(Client_FulfillAliasBuffer)                                              \
                                F(AsyncHostToDeviceTransferManager_TransferLiteral) F(Buffer_CopyRawToHostFuture) F(Device_PoisonExecution)          \
                                    F(Device_CreateAsyncTrackingEvent) F(AsyncTrackingEvent_Destroy) F(Buffer_DonateWithControlDependency)           \
                                        F(Buffer_Bitcast) F(TopologyDescription_MakeCanonicalShapeForMemorySpace)                                    \
                                            F(TopologyDescription_GetMemorySpaceKindIds)

#define REFUSE(name)                                                                                                                                 \
    static PJRT_Error *refuse_##name(PJRT_##name##_Args *a) {                                                                                        \
        (void)a;                                                                                                                                     \
        return face_error(status_new(XT_UNIMPLEMENTED, NULL, "PJRT_" #name " is not offered by the xtrain CPU plugin"));                             \
    }
REFUSED(REFUSE)

#define COUNT(name) +1
static_assert(0 SERVED(COUNT) REFUSED(COUNT) == 138, "every slot is served or refused");

FACE_PLAIN(Plugin_Initialize) {
    (void)a;
    return NULL;
}

FACE_PLAIN(Plugin_Attributes) {
    static const int64_t current[] = {1, 13, 0}, oldest[] = {0, 9, 0};
    static PJRT_NamedValue attributes[2];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    attributes[0] = face_int64s("stablehlo_current_version", current, 3);
    attributes[1] = face_int64s("stablehlo_minimum_version", oldest, 3);
    pthread_mutex_unlock(&lock);
    a->attributes = attributes;
    a->num_attributes = BASE_COUNT(attributes);
    return NULL;
}

#define SERVE_ROW(name) .name = face_##name,
#define REFUSE_ROW(name) .name = refuse_##name,
static const PJRT_Api api = {.struct_size = PJRT_SIZE_OF(PJRT_Api), .extension_start = &face_profiler.base,
                             .pjrt_api_version = {.struct_size = PJRT_SIZE_OF(PJRT_Api_Version), .major_version = 0, .minor_version = 103},
                             SERVED(SERVE_ROW) REFUSED(REFUSE_ROW)};

XT_API const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
    return &api;
}
